------------------------------- MODULE crond -------------------------------
(* A daemon starts programs when the timers of their jobs expire, at most    *)
(* MAXAPROGS at once.                                                        *)
(*                                                                           *)
(*   none --AddJob--> set --SetJob--> no --Start--> yes --Sched--> run       *)
(*                                    ^                             |        *)
(*                                    +------------Exec-------------+        *)
(*                                                                           *)
(* RemoveJob leads from no and from yes back to none. This is seed 004 with  *)
(* the smallest repairs that make it checkable, see README.md. The timers,   *)
(* which the seed takes from a module that it does not show, are part of the *)
(* text. A timer counts the time since its start and stops at its limit: so  *)
(* there are finitely many states, and no bound on the clock is needed.      *)
EXTENDS Naturals, FiniteSets

CONSTANTS
  MAXAPROGS,  \* how many programs may run at once
  PROGS,      \* the programs
  Ids,        \* the places in the table, numbered: AddJob takes the least free one
  Times,      \* what timers are set to
  Ends,       \* whether programs end; FALSE: the steps of the seed
  Remember,   \* "nothing" as the seed; else what the cap counts: "programs", "processes"
  ExecFair,   \* "strong" as the seed, or "weak"
  Ask,        \* "none", or a property that is known to fail
  Mutant      \* "none", or the mistake that is made

ASSUME MAXAPROGS \in Nat /\ MAXAPROGS > 0

VARIABLES
  crontab,    \* each place: time, program and status of its job
  timers,     \* each place: time since the start, limit, whether it runs
  aprocs,     \* the programs that run
  processes,  \* with Remember: how many processes of each program run
  waited      \* with Remember: how long the timer of a due job had run

av == <<crontab, timers, aprocs, processes, waited>>

nullp == "nullp"
Nobody == [time |-> 0, prog |-> nullp, status |-> "none"]
Statuses == {"none", "set", "no", "yes", "run"}
Remembers == Remember # "nothing"

\* A wider set than Times: 0 stands for "not set".
Counts == 0..(CHOOSE t \in Times : \A u \in Times : u <= t)

Init ==
  /\ crontab = [i \in Ids |-> Nobody]
  /\ timers = [i \in Ids |-> [t |-> 0, l |-> 0, r |-> "no"]]
  /\ aprocs = {}
  /\ processes = [p \in PROGS |-> 0]
  /\ waited = [i \in Ids |-> 0]

RECURSIVE SumOver(_)
SumOver(S) == IF S = {} THEN 0
              ELSE LET p == CHOOSE q \in S : TRUE IN processes[p] + SumOver(S \ {p})
Processes == SumOver(PROGS)

(* --------------------------------- timers -------------------------------- *)

SetTimer(i, limit) ==
  /\ limit > 0
  /\ timers[i].r = "no"
  /\ timers' = [timers EXCEPT ![i].l = IF Mutant = "wrong_limit" THEN 1 ELSE limit]

StartTimer(i) ==
  /\ timers[i].r = "no"
  /\ timers[i].l > 0
  /\ timers' = [timers EXCEPT ![i].t = 0, ![i].r = "yes"]

Early == IF Mutant = "timer_early" THEN 1 ELSE 0

Timeout(i) ==
  /\ timers[i].r = "yes"
  /\ timers[i].t + Early >= timers[i].l
  /\ timers' = [timers EXCEPT ![i].t = 0, ![i].r = "no"]

StopTimer(i) ==
  /\ timers[i].r = "yes"
  /\ timers' = IF Mutant = "remove_leaves_timer"
                 THEN timers ELSE [timers EXCEPT ![i].t = 0, ![i].r = "no"]

Counting(i) ==
  /\ timers[i].r = "yes"
  /\ timers[i].t < timers[i].l
  /\ ~(Mutant = "clock_stops" /\ timers[i].t > 0)

(* --------------------------------- daemon -------------------------------- *)

Becomes(i, status) == crontab' = [crontab EXCEPT ![i].status = status]

Free(i) == crontab[i].status = "none"
           \/ (Mutant = "add_overwrites" /\ crontab[i].status = "yes")

AddJob(t, p) ==
  /\ \E w \in Ids : Free(w)
  /\ LET i == CHOOSE w \in Ids : Free(w) /\ \A v \in Ids : Free(v) => w <= v
     IN crontab' = [crontab EXCEPT ![i] = [time |-> t, prog |-> p, status |-> "set"]]
  /\ UNCHANGED <<timers, aprocs, processes, waited>>

SetJob(i) ==
  /\ crontab[i].status = "set"
  /\ SetTimer(i, crontab[i].time)
  /\ Becomes(i, "no")
  /\ UNCHANGED <<aprocs, processes, waited>>

Start(i) ==
  /\ crontab[i].status = "no"
  /\ StartTimer(i)
  /\ Becomes(i, "yes")
  /\ UNCHANGED <<aprocs, processes, waited>>

Full == MAXAPROGS <= IF Remember = "processes" THEN Processes ELSE Cardinality(aprocs)

Sched(i) ==
  /\ crontab[i].status = "yes"
  /\ Timeout(i)
  /\ Becomes(i, IF Mutant = "lose_when_full" /\ Full THEN "no" ELSE "run")
  /\ waited' = IF Remembers THEN [waited EXCEPT ![i] = timers[i].t] ELSE waited
  /\ UNCHANGED <<aprocs, processes>>

Exec(i) ==
  /\ crontab[i].status = "run"
  /\ Full => Mutant = "cap_not_checked"
  /\ Becomes(i, IF Mutant = "exec_keeps_due" THEN "run" ELSE "no")
  /\ aprocs' = aprocs \union {crontab[i].prog}
  /\ processes' = IF Remembers THEN [processes EXCEPT ![crontab[i].prog] = @ + 1] ELSE processes
  /\ waited' = [waited EXCEPT ![i] = 0]
  /\ timers' = IF Mutant = "rearm_forgotten" THEN [timers EXCEPT ![i].l = 0] ELSE timers

RemoveJob(i) ==
  /\ \/ crontab[i].status = "yes" /\ StopTimer(i)
     \/ crontab[i].status = "no" /\ UNCHANGED timers
  /\ crontab' = [crontab EXCEPT ![i] = Nobody]
  /\ UNCHANGED <<aprocs, processes, waited>>

(* ------------------------------ surroundings ----------------------------- *)

Tick ==
  /\ \E i \in Ids : Counting(i)
  /\ timers' = [i \in Ids |->
                  IF Counting(i) THEN [timers[i] EXCEPT !.t = @ + 1] ELSE timers[i]]
  /\ UNCHANGED <<crontab, aprocs, processes, waited>>

\* One process of the program ends. The last one takes the program out of aprocs.
Finish(p) ==
  /\ Ends
  /\ p \in aprocs
  /\ IF Mutant = "slot_leak" THEN UNCHANGED <<aprocs, processes>>
     ELSE /\ processes' = IF Remembers THEN [processes EXCEPT ![p] = @ - 1] ELSE processes
          /\ aprocs' = IF processes[p] > 1 /\ Mutant # "finish_ends_all"
                         THEN aprocs ELSE aprocs \ {p}
  /\ UNCHANGED <<crontab, timers, waited>>

(* ---------------------------------- spec --------------------------------- *)

Next ==
  \/ \E t \in Times, p \in PROGS : AddJob(t, p)
  \/ \E i \in Ids : Start(i) \/ Sched(i) \/ Exec(i) \/ RemoveJob(i) \/ SetJob(i)
  \/ Tick
  \/ \E p \in PROGS : Finish(p)

ExecStrongly(i) == ExecFair = "strong" /\ Exec(i)
ExecWeakly(i) == ExecFair = "weak" /\ Exec(i)

\* The seed promises Start and Exec; without the rest no job need ever come due.
Spec ==
  /\ Init /\ [][Next]_av
  /\ \A i \in Ids : WF_av(Start(i))
  /\ \A i \in Ids : SF_av(ExecStrongly(i))
  /\ \A i \in Ids : WF_av(ExecWeakly(i))
  /\ \A i \in Ids : WF_av(SetJob(i))
  /\ \A i \in Ids : WF_av(Sched(i))
  /\ \A p \in PROGS : WF_av(Finish(p))
  /\ WF_av(Tick)

\* Goes as far as one process too many: with a cap on programs there is no bound on them.
Within == Processes <= MAXAPROGS + 1

(* ------------------------------- properties ------------------------------ *)

TableOK ==
  /\ \A i \in Ids : /\ crontab[i].time \in Counts
                    /\ crontab[i].prog \in PROGS \/ crontab[i].prog = nullp
                    /\ crontab[i].status \in Statuses
  /\ aprocs \subseteq PROGS

TypeInv ==
  /\ TableOK
  /\ \A i \in Ids : /\ timers[i].t \in Counts
                    /\ timers[i].l \in Counts
                    /\ timers[i].r \in {"no", "yes"}

Limit == Cardinality(aprocs) <= MAXAPROGS

\* A timer runs exactly while its job is armed.
TimerRunsIffArmed == \A i \in Ids : (timers[i].r = "yes") <=> (crontab[i].status = "yes")

\* A job came due by a timer that was set to its time.
NotEarly == \A i \in Ids : crontab[i].status = "run" => timers[i].l = crontab[i].time

\* With Remember: ... and that had run for so long.
ExpiredInTime ==
  Remembers => \A i \in Ids : crontab[i].status = "run" => waited[i] >= crontab[i].time

\* With Remember: the set holds the programs that have processes.
AprocsAreRunning == Remembers => aprocs = {p \in PROGS : processes[p] > 0}

\* At most MAXAPROGS processes. Holds only if they are what the cap counts.
ProcessCap == (Remember = "processes" \/ Ask = "ProcessCap") => Processes <= MAXAPROGS

\* What the seed calls TypeInv: it says that the timers keep their first value.
TypeInvSeed ==
  (Ask = "TypeInvSeed") =>
    (TableOK /\ (timers = [i \in Ids |-> [t |-> 0, l |-> 0, r |-> "no"]]))

\* A due job is executed.
DueRuns == \A i \in Ids : (crontab[i].status = "run") ~> (crontab[i].status # "run")

\* An armed job is executed or removed.
ArmedRuns == \A i \in Ids : (crontab[i].status = "yes") ~> (crontab[i].status \in {"run", "none"})

\* So is a job that was added.
AddedRuns == \A i \in Ids : (crontab[i].status = "set") ~> (crontab[i].status \in {"run", "none"})

\* A job that rests is armed again, or removed.
Rearmed == \A i \in Ids : (crontab[i].status = "no") ~> (crontab[i].status \in {"yes", "none"})
=============================================================================
