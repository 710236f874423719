--------------------------------- MODULE pool --------------------------------
(* What the pool promises of its jobs and its sleepers, whatever way it      *)
(* keeps it: no job is lost or runs twice, and nobody sleeps while a job is  *)
(* queued and nobody is going to look.                                       *)
(*                                                                           *)
(* A job is away, queued (in the injector, in a worker's ring or in its next *)
(* slot), in a worker's hands, running, or done. A worker is awake, drowsy   *)
(* (it has said that it will sleep), asleep, called (somebody wakes it), or  *)
(* gone after a stop.                                                        *)
(*                                                                           *)
(* How the code knows whether it may sleep, begin a job or return without    *)
(* waking anybody is left out, and is in specs/idle_set: here such a step is *)
(* allowed if the promise holds after it.                                    *)
(*                                                                           *)
(* A step of a job may take for ever: nothing relies on a running job to     *)
(* end. The one job in a next slot may rely on the lookout's nap.            *)
EXTENDS Integers, FiniteSets

CONSTANTS
  Workers,  \* 1 .. some number
  Jobs,     \* posted or spawned, once each
  Mutant    \* "none", or the mistake that is made, see README.md

VARIABLES
  where,    \* of each job: the place in which it is queued, Away or Out
  hands,    \* of each job: who has taken it and not put it anywhere yet
  runs,     \* of each job: on whom it runs
  done,     \* jobs that have run
  offered,  \* jobs whose poster or maker still sees to it that somebody looks
  mode,     \* of each worker
  lookout,  \* the worker that naps instead of sleeping
  stop      \* whether the pool was told to stop, and all were woken for it

vars == <<where, hands, runs, done, offered, mode, lookout, stop>>
jobs == <<where, hands, runs, done, offered>>

Nobody == 0
ASSUME Nobody \notin Workers

Away == <<"away", Nobody>>
Out == <<"out", Nobody>>
Injector == <<"injector", Nobody>>
Ring(w) == <<"ring", w>>
Slot(w) == <<"slot", w>>

InSight(place) == place[1] \in {"injector", "ring"}
InSlot(place) == place[1] = "slot"

TypeOK ==
  /\ \A j \in Jobs :
       /\ where[j] \in {Away, Out, Injector} \cup {Ring(w) : w \in Workers}
                                             \cup {Slot(w) : w \in Workers}
       /\ hands[j] \subseteq Workers
       /\ runs[j] \subseteq Workers
  /\ done \subseteq Jobs
  /\ offered \subseteq Jobs
  /\ \A w \in Workers : mode[w] \in {"awake", "drowsy", "asleep", "called", "gone"}
  /\ lookout \in Workers \cup {Nobody}
  /\ stop \in {"not_yet", "waking", "done"}

Init ==
  /\ where = [j \in Jobs |-> Away]
  /\ hands = [j \in Jobs |-> {}]
  /\ runs = [j \in Jobs |-> {}]
  /\ done = {}
  /\ offered = {}
  /\ mode = [w \in Workers |-> "awake"]
  /\ lookout = Nobody
  /\ stop = "not_yet"

Running(w) == \E j \in Jobs : w \in runs[j]
Holds(w) == \E j \in Jobs : w \in hands[j]
Searches(w) == mode[w] = "awake" /\ ~Running(w)
Sleepers == {w \in Workers : mode[w] = "asleep"}
Naps == lookout # Nobody /\ lookout \in Sleepers

\* Whether one of these workers looks for jobs, is about to or is being woken, or who queued one of
\* these jobs has not gone yet.
Attended(by, offers) ==
  \/ \E w \in by : Searches(w) \/ mode[w] \in {"drowsy", "called"}
  \/ offers # {}

\* The promise, if these sleep. After a stop nothing is promised.
Promise(sleepers, attended, napping) ==
  \/ sleepers = {}
  \/ attended
  \/ stop # "not_yet"
  \/ \A j \in Jobs : ~InSight(where[j]) /\ (InSlot(where[j]) => napping)

Go(w, m) == mode' = [mode EXCEPT ![w] = m]

(* ---------------------------- jobs are queued ---------------------------- *)

Post(j) ==
  /\ where[j] = Away
  /\ where' = [where EXCEPT ![j] = Injector]
  /\ offered' = offered \cup {j}
  /\ UNCHANGED <<hands, runs, done, mode, lookout, stop>>

Spawn(w) ==
  /\ Running(w)
  /\ \E j \in Jobs :
       /\ where[j] = Away
       /\ \/ where' = [where EXCEPT ![j] = Ring(w)]
          \/ /\ \A k \in Jobs : where[k] # Slot(w)
             /\ where' = [where EXCEPT ![j] = Slot(w)]
       /\ offered' = offered \cup {j}
  /\ UNCHANGED <<hands, runs, done, mode, lookout, stop>>

\* Whoever queued the job goes on with something else.
EndOffer(j) ==
  /\ j \in offered
  /\ Mutant = "wake_dropped" \/ Promise(Sleepers, Attended(Workers, offered \ {j}), Naps)
  /\ offered' = offered \ {j}
  /\ UNCHANGED <<where, hands, runs, done, mode, lookout, stop>>

(* ------------------------ jobs are taken, and run ------------------------ *)

TakeFrom(w, place) ==
  /\ Searches(w)
  /\ \E some \in SUBSET {j \in Jobs : where[j] = place} :
       /\ some # {}
       /\ where' = IF Mutant = "taken_twice" THEN where
                   ELSE [j \in Jobs |-> IF j \in some THEN Out ELSE where[j]]
       /\ hands' = [j \in Jobs |-> IF j \in some THEN hands[j] \cup {w} ELSE hands[j]]
  /\ UNCHANGED <<runs, done, offered, mode, lookout, stop>>

Take(w) == TakeFrom(w, Injector) \/ TakeFrom(w, Ring(w)) \/ TakeFrom(w, Slot(w))

\* Only a lookout takes what is in another's next slot.
Steal(w) ==
  \E v \in Workers \ {w} :
    \/ TakeFrom(w, Ring(v))
    \/ lookout = w /\ TakeFrom(w, Slot(v))

\* What was taken is queued here.
Keep(w) ==
  /\ Searches(w)
  /\ \E j \in Jobs :
       /\ w \in hands[j]
       /\ hands' = [hands EXCEPT ![j] = @ \ {w}]
       /\ where' = IF Mutant = "thief_drops" THEN where ELSE [where EXCEPT ![j] = Ring(w)]
  /\ UNCHANGED <<runs, done, offered, mode, lookout, stop>>

\* A worker turns to the one job that it has, and no longer looks.
Begin(w) ==
  /\ Searches(w)
  /\ \E j \in Jobs :
       /\ w \in hands[j]
       /\ \A k \in Jobs \ {j} : w \notin hands[k]
       /\ hands' = [hands EXCEPT ![j] = @ \ {w}]
       /\ runs' = [runs EXCEPT ![j] = @ \cup {w}]
  /\ Mutant = "no_surplus_look" \/ Promise(Sleepers, Attended(Workers \ {w}, offered), Naps)
  /\ UNCHANGED <<where, done, offered, mode, lookout, stop>>

Finish(w) ==
  /\ mode[w] = "awake"
  /\ \E j \in Jobs :
       /\ w \in runs[j]
       /\ runs' = [runs EXCEPT ![j] = @ \ {w}]
       /\ done' = done \cup {j}
  /\ UNCHANGED <<where, hands, offered, mode, lookout, stop>>

(* --------------------------- sleeping, waking ---------------------------- *)

Doze(w) ==
  /\ Searches(w)
  /\ ~Holds(w)
  /\ Go(w, "drowsy")
  /\ UNCHANGED <<jobs, lookout, stop>>

\* It sees a reason not to sleep.
Stay(w) ==
  /\ mode[w] = "drowsy"
  /\ Go(w, "awake")
  /\ UNCHANGED <<jobs, lookout, stop>>

Sleep(w) ==
  /\ mode[w] = "drowsy"
  /\ stop # "done"
  /\ \/ Mutant = "no_second_look"
     \/ Promise(Sleepers \cup {w}, Attended(Workers \ {w}, offered), Naps \/ lookout = w)
  /\ Go(w, "asleep")
  /\ UNCHANGED <<jobs, lookout, stop>>

\* By whoever queues a job, searches, or stops the pool.
Wake(w) ==
  /\ mode[w] \in {"drowsy", "asleep"}
  /\ \/ stop = "waking"
     \/ offered # {}
     \/ \E v \in Workers : Searches(v)
  /\ Go(w, "called")
  /\ UNCHANGED <<jobs, lookout, stop>>

Rouse(w) ==
  /\ mode[w] = "called"
  /\ Go(w, "awake")
  /\ UNCHANGED <<jobs, lookout, stop>>

\* The lookout's nap is over.
Stir(w) ==
  /\ mode[w] = "asleep"
  /\ lookout = w
  /\ Go(w, "awake")
  /\ UNCHANGED <<jobs, lookout, stop>>

\* Who becomes the lookout may have been called meanwhile.
Watch(w) ==
  /\ mode[w] \in {"drowsy", "called"}
  /\ lookout = Nobody
  /\ lookout' = w
  /\ UNCHANGED <<jobs, mode, stop>>

Resign(w) ==
  /\ lookout = w
  /\ Searches(w) \/ mode[w] \in {"drowsy", "called"}
  /\ lookout' = Nobody
  /\ UNCHANGED <<jobs, mode, stop>>

(* -------------------------------- stopping ------------------------------- *)

Stop ==
  /\ stop = "not_yet"
  /\ stop' = "waking"
  /\ UNCHANGED <<jobs, mode, lookout>>

StopEnds ==
  /\ stop = "waking"
  /\ Sleepers = {} \/ Mutant = "stop_forgets"
  /\ stop' = "done"
  /\ UNCHANGED <<jobs, mode, lookout>>

\* What is queued stays where it is.
Exit(w) ==
  /\ stop # "not_yet"
  /\ Searches(w)
  /\ ~Holds(w)
  /\ Go(w, "gone")
  /\ UNCHANGED <<jobs, lookout, stop>>

(* ---------------------------------- spec --------------------------------- *)

Standstill ==
  /\ stop = "done"
  /\ \A w \in Workers : mode[w] = "gone"
  /\ \A j \in Jobs : where[j] # Away /\ j \notin offered

Next ==
  \/ \E j \in Jobs : Post(j) \/ EndOffer(j)
  \/ \E w \in Workers :
       \/ Spawn(w) \/ Take(w) \/ Steal(w) \/ Keep(w) \/ Begin(w) \/ Finish(w)
       \/ Doze(w) \/ Stay(w) \/ Sleep(w) \/ Wake(w) \/ Rouse(w) \/ Stir(w)
       \/ Watch(w) \/ Resign(w) \/ Exit(w)
  \/ Stop \/ StopEnds
  \/ (Standstill /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars

(* ------------------------------- properties ------------------------------ *)

\* In how many places a job is.
Places(j) ==
  (IF where[j] = Out THEN 0 ELSE 1) + Cardinality(hands[j]) + Cardinality(runs[j])
    + (IF j \in done THEN 1 ELSE 0)

NoJobLost == \A j \in Jobs : Places(j) > 0

OnceOnly == \A j \in Jobs : Places(j) < 2

\* Who sleeps, or runs a job, has no other in its hands.
HandsEmptied == \A w \in Workers : Holds(w) => Searches(w)

WorkConserving == Promise(Sleepers, Attended(Workers, offered), Naps)

StopWakesAll == stop = "done" => Sleepers = {}
=============================================================================
