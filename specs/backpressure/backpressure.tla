---------------------------- MODULE backpressure ----------------------------
(* Cowns run behaviours, and mute those who send to an overloaded cown.      *)
(*                                                                           *)
(* A behaviour is a message: the set of cowns that it needs. It is sent to   *)
(* the least of them; each acquires it and passes it on to the next; the     *)
(* greatest runs it, and then all of them are released:                      *)
(*                                                                           *)
(*   Send --> Acquire --> ... --> Acquire --> Prerun --> Complete            *)
(*                                                                           *)
(* A cown whose queue is too long has high priority (1), and lends it to all *)
(* that its messages wait for. Whoever sends to it is muted when the sending *)
(* behaviour completes: low priority (-1), not scheduled, and noted in the   *)
(* mute set of the overloaded cown, its mutor. It is free again when the     *)
(* mutor is normal (0), or when something of high priority needs it.         *)
(*                                                                           *)
(* With all switches off this is seed 001 as written. What each of them adds *)
(* is told in README.md.                                                     *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Cowns,              \* numbers; behaviours acquire them in ascending order
  BehaviourLimit,     \* how many behaviours are sent in all
  OverloadThreshold,  \* a longer queue is an overloaded one
  Eager,              \* who becomes normal frees whom it muted in the same step
  Propagate,          \* sending to a muted cown mutes the sender too
  AcquireOverload,    \* a cown that passes a message on looks at its queue, too
  ClearOnPriority,    \* whom priority frees is taken out of the mute sets
  Hopwise,            \* priority goes to the next cown of a message, hop by hop
  Overlook,           \* a sender may not see that a receiver is not normal, or should not be
  Notice,             \* a sender gives priority to receivers with too long a queue
  Chain,              \* overloaded senders are muted too, and stay high when they are freed
  Lasting,            \* who is overloaded stays so until its queue is half as long
  Gradual,            \* who has caught up may free some of whom it muted, and the rest later
  TwoSteps,           \* passing a message on takes two steps, and so does a look at two receivers
  Pressure,           \* how often the environment puts pressure on a cown
  TodoLine,           \* TRUE: no sender that is among the receivers is muted
  Mutant              \* "none", or the mistake that is made, see README.md

VARIABLES
  fuel,       \* how many behaviours may still be sent
  queue,      \* messages of each cown, the oldest first; a running one stays in front
  scheduled,  \* FALSE while a cown is muted, or held by a message further up
  running,    \* TRUE between Prerun and Complete
  priority,   \* -1, 0 or 1
  blocker,    \* the cown that holds the message which holds this one, or will next, or Null
  passing,    \* cowns whose first message is on its way to the next one
  mutor,      \* whom a running cown will be muted by, or Null
  mute,       \* whom each cown has muted
  pressure,   \* how often cowns may still be put under pressure
  pressed,    \* those that are
  mistakes    \* what a step did and should not have; for the properties of steps

vars == <<fuel, queue, scheduled, running, priority, blocker, passing, mutor, mute, pressure,
          pressed, mistakes>>

Null == 0

(* -------------------------------- reading -------------------------------- *)

Min(S) == CHOOSE x \in S : \A y \in S : x <= y
Max(S) == CHOOSE x \in S : \A y \in S : x >= y

RECURSIVE SumOver(_, _)
SumOver(S, f) ==
  IF S = {} THEN 0
  ELSE LET x == CHOOSE y \in S : TRUE IN f[x] + SumOver(S \ {x}, f)

Messages(c) == {queue[c][i] : i \in 1..Len(queue[c])}
CurrentMessage(c) == IF queue[c] = <<>> THEN {} ELSE Head(queue[c])
InQueue(c) == UNION Messages(c)

Sleeping(c) == scheduled[c] /\ queue[c] = <<>>
Available(c) == scheduled[c] /\ queue[c] # <<>>
Muted(c) == \E k \in Cowns : c \in mute[k]

LowPriority(cs) == {c \in cs : priority[c] = -1}
HighPriority(cs) == {c \in cs : priority[c] = 1}

References(c) ==
  SumOver(Cowns, [k \in Cowns |-> Cardinality({i \in 1..Len(queue[k]) : c \in queue[k][i]})])

\* What is on its way to the next cown does not count.
Length(c) == Len(queue[c]) - (IF c \in passing THEN 1 ELSE 0)
Load(c) == IF Mutant = "count_references" THEN References(c) ELSE Length(c)

\* What a longer queue is overloaded at: less for a cown that was, or is muted.
LowMark == IF Lasting THEN OverloadThreshold \div 2 ELSE OverloadThreshold
Mark(c) == IF priority[c] = 0 THEN OverloadThreshold ELSE LowMark
Overloaded(c) == Load(c) > Mark(c)

\* Where those that wait begin: the first one may run, or go on.
FirstWaiting(c) == IF running[c] \/ c \in passing THEN 2 ELSE 1

\* Held by messages that wait in the queue of c, from that place on; and by those that are on
\* their way there.
WaitingHolders(c, place) == UNION {{k \in queue[c][i] : k < c} : i \in place..Len(queue[c])}
ComingHolders(c) ==
  UNION {{k \in CurrentMessage(j) : k <= j} : j \in {i \in passing : blocker[i] = c}}

\* Those of high priority. p is priority as it is seen.
UrgentHolders(c, place, p) ==
  {k \in WaitingHolders(c, place) \cup ComingHolders(c) : p[k] = 1}

\* For whom a cown keeps its priority.
HoldersToKeep(c, place) ==
  IF Mutant = "way_forgotten" THEN HighPriority(WaitingHolders(c, place))
  ELSE UrgentHolders(c, place, priority)

\* Of a cown that is about to run its first message.
RequiresPriority(c) ==
  \/ Overloaded(c)
  \/ c \in pressed /\ Mutant # "pressure_forgotten"
  \/ IF Hopwise THEN HoldersToKeep(c, 2) # {} /\ Mutant # "prerun_forgets_holder"
     ELSE HighPriority(InQueue(c) \ {c}) # {}

RECURSIVE Blockers(_)
Blockers(c) ==
  IF blocker[c] = Null \/ Mutant = "no_blocker_walk" THEN {}
  ELSE {blocker[c]} \cup Blockers(blocker[c])

\* Those that lack priority, and all that these wait behind.
Prioritizing(cs) ==
  LET lacking == cs \ HighPriority(cs)
  IN  lacking \cup UNION {Blockers(c) : c \in lacking}

\* p is priority as the sender sees it.
ValidMutor(c, p) ==
  \/ p[c] = 1 /\ (Overloaded(c) \/ c \in pressed)
  \/ p[c] = -1

\* A sender can be muted if it is normal or, in a chain, of high priority for nothing but its own
\* load.
CanBeMuted(c, p) ==
  \/ p[c] = 0
  \/ Chain /\ p[c] = 1 /\ c \notin pressed /\ UrgentHolders(c, FirstWaiting(c), p) = {}

\* With those who have muted some of them, and so on.
RECURSIVE WithMutors(_)
WithMutors(cs) ==
  LET more == {k \in Cowns \ cs : mute[k] \cap cs # {}}
  IN  IF more = {} THEN cs ELSE WithMutors(cs \cup more)

\* Whom this one may not mute, since it waits for them itself. Normal cowns are not among them.
WaitsFor(c) == IF Chain /\ Mutant # "mute_in_circle" THEN WithMutors({c}) ELSE {}

(* ----------------------- properties of single steps ---------------------- *)

\* Whether a cown may free some of whom it has muted while it has high priority.
CaughtUp(c) == Gradual /\ c \notin pressed /\ Length(c) <= OverloadThreshold

\* A muted cown became normal, although no cown that had muted it was or is normal, or has caught
\* up.
FreedEarly ==
  \E c \in Cowns :
    /\ priority[c] = -1 /\ priority'[c] = 0
    /\ \A k \in Cowns :
         c \in mute[k] => (priority[k] # 0 /\ priority'[k] # 0 /\ ~CaughtUp(k))

\* A sender will be muted by a cown that is neither muted itself, nor has a long queue, nor is
\* under pressure.
MutedIdly ==
  \E c \in Cowns :
    /\ mutor'[c] # mutor[c] /\ mutor'[c] # Null
    /\ priority[mutor'[c]] # -1
    /\ Length(mutor'[c]) <= Mark(mutor'[c])
    /\ mutor'[c] \notin pressed

\* A message that names a cown of high priority entered a queue, and one that it has yet to
\* acquire did not get high priority. Hop by hop it matters whom it holds, and where it is.
HeldUp ==
  \E c \in Cowns :
    /\ Len(queue'[c]) > Len(queue[c])
    /\ LET m == queue'[c][Len(queue'[c])]
       IN  IF Hopwise
             THEN priority'[c] # 1 /\ \E k \in m : k < c /\ priority[k] = 1
             ELSE /\ \E k \in m : priority[k] = 1
                  /\ \E k \in m : k >= c /\ priority'[k] # 1

\* Hop by hop: a muted cown that is not under pressure got high priority, and no message in its
\* queue, or on its way there, holds a cown of high priority. In a chain that is right if a normal
\* cown, or one that has caught up, has freed it, and its queue is too long.
RaisedIdly ==
  /\ Hopwise
  /\ \E c \in Cowns \ pressed' :
       /\ priority[c] = -1 /\ priority'[c] = 1
       /\ \A i \in 1..Len(queue'[c]) : \A k \in queue'[c][i] : k < c => priority'[k] # 1
       /\ \A j \in passing' : blocker'[j] = c =>
            \A k \in queue'[j][1] : k <= j => priority'[k] # 1
       /\ ~(/\ Chain /\ Len(queue'[c]) > LowMark
            /\ \E k \in Cowns : c \in mute[k] /\ (priority'[k] = 0 \/ CaughtUp(k)))

\* What falls in every step: fuel, then messages by the cowns that they have yet to reach, then
\* muted cowns, then pressure. A message in front of a running cown counts one less, and one that
\* is on its way has half of its hop behind it.
Measure(f, q, r, p, w, left, under) ==
  LET n == Cardinality(Cowns)
      hop == IF TwoSteps THEN 2 ELSE 1
      hops == [c \in Cowns |->
                SumOver(1..Len(q[c]), [i \in 1..Len(q[c]) |->
                  n + 2 + hop * Cardinality({k \in q[c][i] : k > c})])]
  IN  ((1 + hop) * n + 2) * f + SumOver(Cowns, hops)
      + Cardinality({c \in Cowns : p[c] = -1}) - Cardinality({c \in Cowns : r[c]})
      - Cardinality(w) + 2 * left + Cardinality(under)

NotLess ==
  Measure(fuel', queue', running', priority', passing', pressure', pressed')
    >= Measure(fuel, queue, running, priority, passing, pressure, pressed)

Note ==
  mistakes' = mistakes
    \cup (IF FreedEarly THEN {"freed early"} ELSE {})
    \cup (IF MutedIdly THEN {"muted idly"} ELSE {})
    \cup (IF HeldUp THEN {"held up"} ELSE {})
    \cup (IF RaisedIdly THEN {"raised idly"} ELSE {})
    \cup (IF NotLess THEN {"not less"} ELSE {})

(* --------------------------------- steps --------------------------------- *)

Init ==
  /\ fuel = BehaviourLimit
  /\ queue = [c \in Cowns |-> <<{c}>>]
  /\ scheduled = [c \in Cowns |-> TRUE]
  /\ running = [c \in Cowns |-> FALSE]
  /\ priority = [c \in Cowns |-> 0]
  /\ blocker = [c \in Cowns |-> Null]
  /\ passing = {}
  /\ mutor = [c \in Cowns |-> Null]
  /\ mute = [c \in Cowns |-> {}]
  /\ pressure = Pressure
  /\ pressed = {}
  /\ mistakes = {}

\* The end is no deadlock.
Terminating ==
  /\ \A c \in Cowns : Sleeping(c)
  /\ UNCHANGED vars

(* What becomes of priority, scheduled and mute when some are raised to high  *)
(* priority: the muted ones among them are free.                              *)

RaisedPriority(raised) == [c \in Cowns |-> IF c \in raised THEN 1 ELSE priority[c]]

RaisedScheduled(raised) ==
  LET woken == IF Mutant = "no_wake_by_priority" THEN {} ELSE LowPriority(raised)
  IN  [c \in Cowns |-> c \in woken \/ scheduled[c]]

RaisedMute(raised) ==
  LET freed == IF ClearOnPriority THEN LowPriority(raised) ELSE {}
  IN  [k \in Cowns |-> mute[k] \ freed]

(* The end of a step that may make cowns normal; p, m and q are priority,     *)
(* mute and queue as the step leaves them. With Eager the normal ones free    *)
(* whom they have muted; these are normal then, and do the same. In a chain   *)
(* those with too long a queue get high priority instead, and keep whom they  *)
(* have muted.                                                                *)

StaysLong(c, q) == Chain /\ Len(q[c]) > LowMark

RECURSIVE FreedBy(_, _, _, _)
FreedBy(normal, p, m, q) ==
  LET more == {c \in Cowns \ normal : p[c] = -1 /\ \E k \in normal : c \in m[k]}
      next == {c \in more : ~StaysLong(c, q)}
  IN  IF next = {} \/ Mutant = "no_cascade" THEN more
      ELSE more \cup FreedBy(normal \cup next, p, m, q)

NormalIn(p) == {c \in Cowns : p[c] = 0 /\ (Mutant = "only_dropped" => priority[c] # 0)}

Freed(p, m, q) ==
  IF Eager /\ Mutant \notin {"unmute_never", "unmute_on_idle"} THEN FreedBy(NormalIn(p), p, m, q)
  ELSE {}

FreePriority(p, m, q) ==
  LET freed == Freed(p, m, q)
  IN  [c \in Cowns |-> IF c \in freed THEN (IF StaysLong(c, q) THEN 1 ELSE 0) ELSE p[c]]

FreeMute(p, m, q) ==
  LET next == {c \in Freed(p, m, q) : ~StaysLong(c, q)}
      done == IF Mutant = "no_cascade" THEN NormalIn(p) ELSE NormalIn(p) \cup next
  IN  IF Eager /\ Mutant \notin {"unmute_never", "unmute_on_idle"}
        THEN [k \in Cowns |-> IF k \in done THEN {} ELSE m[k]]
        ELSE m

FreeScheduled(p, m, q, s) == LET freed == Freed(p, m, q) IN [c \in Cowns |-> c \in freed \/ s[c]]

(* Acquire: a cown holds its first message and passes it on. With TwoSteps it *)
(* only writes down where to, and Arrive takes the message there: in between, *)
(* others may come there first, and may give priority to this cown, which is  *)
(* passed on without the message.                                             *)

Rest(cown) == {c \in CurrentMessage(cown) : c > cown}

PassTo(cown) ==
  CASE Mutant = "acquire_out_of_order" -> Max(Rest(cown))
    [] Mutant = "pass_to_neighbour" -> cown + 1
    [] OTHER -> Min(Rest(cown))

\* Whether the message has priority to give away. Hop by hop only that of cowns which it holds by
\* then: these wait for the next one, while the others are still free.
Lends(cown) ==
  IF Hopwise
    THEN /\ \E c \in HighPriority(CurrentMessage(cown)) : c <= cown
         /\ Mutant # "raise_skips_next"
    ELSE HighPriority(CurrentMessage(cown)) # {}

RaisedByAcquire(cown) ==
  LET loaded == AcquireOverload /\ Overloaded(cown)
      ahead == IF Hopwise THEN {Min(Rest(cown))} ELSE Rest(cown)
  IN  CASE Mutant = "no_priority_in_acquire" -> {}
        [] loaded -> Prioritizing(ahead \cup {cown})
        [] Lends(cown) -> Prioritizing(ahead)
        [] OTHER -> {}

Passed(cown, to) ==
  [c \in Cowns |->
    CASE c = cown -> Tail(queue[c])
      [] c = to /\ Mutant # "drop_in_acquire" -> Append(queue[c], CurrentMessage(cown))
      [] OTHER -> queue[c]]

Acquire(cown) ==
  /\ Available(cown)
  /\ cown < Max(CurrentMessage(cown))
  /\ priority' = RaisedPriority(RaisedByAcquire(cown))
  /\ mute' = RaisedMute(RaisedByAcquire(cown))
  /\ scheduled' = [RaisedScheduled(RaisedByAcquire(cown)) EXCEPT
                     ![cown] = (Mutant = "schedule_twice")]
  /\ blocker' = [blocker EXCEPT ![cown] = PassTo(cown)]
  /\ queue' = IF TwoSteps THEN queue ELSE Passed(cown, PassTo(cown))
  /\ passing' = IF TwoSteps THEN passing \cup {cown} ELSE passing
  /\ UNCHANGED <<fuel, running, mutor, pressure, pressed>>
  /\ Note

Arrive(cown) ==
  /\ cown \in passing
  /\ blocker[cown] # Null  \* of mutants
  /\ passing' = passing \ {cown}
  /\ queue' = Passed(cown, blocker[cown])
  /\ UNCHANGED <<fuel, scheduled, running, priority, blocker, mutor, mute, pressure, pressed>>
  /\ Note

(* Prerun: the greatest cown of a message starts to run it. With Gradual, one *)
(* that has high priority for nothing but its own load, and whose queue is no *)
(* longer too long, may free only some of whom it has muted. It keeps its     *)
(* priority for the others: with it, it has work, and will come here again.   *)

PriorityToRun(cown) == [priority EXCEPT ![cown] = IF RequiresPriority(cown) THEN 1 ELSE 0]

Unblocked(cs) ==
  IF Mutant = "keep_blocker" THEN blocker
  ELSE [c \in Cowns |-> IF c \in cs THEN Null ELSE blocker[c]]

SettlesToRun(cown) ==
  /\ priority' = FreePriority(PriorityToRun(cown), mute, queue)
  /\ mute' = FreeMute(PriorityToRun(cown), mute, queue)
  /\ scheduled' = FreeScheduled(PriorityToRun(cown), mute, queue, scheduled)

CanFreeSome(cown) ==
  /\ Gradual /\ priority[cown] = 1 /\ cown \notin pressed
  /\ Length(cown) <= OverloadThreshold \/ Mutant = "freed_too_soon"
  /\ HoldersToKeep(cown, 2) = {}

FreesSome(cown, some) ==
  LET p == [priority EXCEPT ![cown] = 0]
      m == [mute EXCEPT ![cown] = some]
      kept == mute[cown] \ some
      stays == kept # {} /\ Mutant # "rest_forgotten"
  IN  /\ priority' = [FreePriority(p, m, queue) EXCEPT ![cown] = IF stays THEN 1 ELSE 0]
      /\ mute' = [FreeMute(p, m, queue) EXCEPT ![cown] = kept]
      /\ scheduled' = FreeScheduled(p, m, queue, scheduled)

Prerun(cown) ==
  /\ Available(cown)
  /\ ~running[cown]
  /\ cown = Max(CurrentMessage(cown))
  /\ running' = [running EXCEPT ![cown] = TRUE]
  /\ blocker' = Unblocked(CurrentMessage(cown))
  /\ \/ SettlesToRun(cown)
     \/ CanFreeSome(cown) /\ \E some \in (SUBSET mute[cown]) \ {{}} : FreesSome(cown, some)
  /\ UNCHANGED <<fuel, queue, passing, mutor, pressure, pressed>>
  /\ Note

(* Send: a running behaviour sends one more. It may be muted for it later.    *)
(* seen are those receivers that the sender pays attention to: all or, if it  *)
(* reads what is out of date, none; with TwoSteps it may see some as they are *)
(* and others as they were. Hop by hop it gives no priority for the sake of   *)
(* the message, which holds nothing yet. With Notice, those whom it finds     *)
(* with too long a queue get it, and may mute the sender then. A muted one    *)
(* stays muted and mutes the sender: otherwise propagation would end here.    *)

Noticed(seen) ==
  {c \in seen :
    /\ Notice /\ Overloaded(c)
    /\ priority[c] = 0 \/ (priority[c] = -1 /\ Mutant = "notice_raises_muted")}

SeenOf(receivers) ==
  LET odd == Noticed(receivers) \cup {c \in receivers : priority[c] # 0}
  IN  IF ~Overlook \/ odd = {} THEN {receivers}
      ELSE IF TwoSteps THEN SUBSET odd
      ELSE {receivers, {}}

RaisedByNotice(seen) ==
  IF Mutant = "notice_skips_chain" THEN Noticed(seen) ELSE Prioritizing(Noticed(seen))

SendGives == IF Hopwise THEN Mutant = "priority_in_send" ELSE Mutant # "no_priority_in_send"

RaisedBySend(receivers, seen) ==
  RaisedByNotice(seen)
    \cup (IF HighPriority(seen) # {} /\ SendGives THEN Prioritizing(receivers) ELSE {})

Careless == Mutant = "mute_among_receivers"

\* Whether the senders, the cowns of the running message, may be muted for what they send.
MayMute(senders, receivers, seen, p) ==
  /\ \E c \in seen : p[c] = 1 \/ (Propagate /\ p[c] = -1)
  /\ Careless \/ \A c \in senders : CanBeMuted(c, p)
  /\ Careless \/ ~TodoLine \/ senders \cap receivers = {}

Mutors(senders, receivers, seen) ==
  LET p == RaisedPriority(RaisedByNotice(seen))
  IN  IF MayMute(senders, receivers, seen, p)
        THEN {c \in (IF Careless THEN seen ELSE seen \ senders) : ValidMutor(c, p)}
        ELSE {}

MinOrNull(S) == IF S = {} THEN Null ELSE Min(S)

NextMutor(cown, receivers, seen) ==
  IF mutor[cown] # Null THEN mutor[cown]
  ELSE MinOrNull(Mutors(CurrentMessage(cown), receivers, seen))

\* Whom the mutant mutes before the behaviour has completed.
TooSoon(cown, receivers, seen) ==
  IF Mutant # "mute_in_send" \/ NextMutor(cown, receivers, seen) = Null THEN {}
  ELSE {c \in CurrentMessage(cown) : CanBeMuted(c, RaisedPriority(RaisedBySend(receivers, seen)))}
         \ WaitsFor(NextMutor(cown, receivers, seen))

WithSent(receivers) ==
  LET to == IF Mutant = "send_to_greatest" THEN Max(receivers) ELSE Min(receivers)
      sent == IF Mutant = "send_twice" THEN <<receivers, receivers>> ELSE <<receivers>>
  IN  [queue EXCEPT ![to] = @ \o sent]

Send(cown) ==
  /\ running[cown]
  /\ fuel > 0
  /\ fuel' = fuel - 1
  /\ \E receivers \in SUBSET Cowns \ {{}} : \E seen \in SeenOf(receivers) :
       /\ queue' = WithSent(receivers)
       /\ IF TooSoon(cown, receivers, seen) = {}
            THEN /\ priority' = RaisedPriority(RaisedBySend(receivers, seen))
                 /\ scheduled' = RaisedScheduled(RaisedBySend(receivers, seen))
                 /\ mute' = RaisedMute(RaisedBySend(receivers, seen))
                 /\ mutor' = [mutor EXCEPT ![cown] = NextMutor(cown, receivers, seen)]
            ELSE /\ priority' = [c \in Cowns |-> IF c \in TooSoon(cown, receivers, seen) THEN -1
                                 ELSE RaisedPriority(RaisedBySend(receivers, seen))[c]]
                 /\ scheduled' = [c \in Cowns |-> c \notin TooSoon(cown, receivers, seen)
                                 /\ RaisedScheduled(RaisedBySend(receivers, seen))[c]]
                 /\ mute' = [RaisedMute(RaisedBySend(receivers, seen)) EXCEPT
                                 ![NextMutor(cown, receivers, seen)] =
                                   @ \cup TooSoon(cown, receivers, seen)]
                 /\ UNCHANGED mutor
  /\ UNCHANGED <<running, blocker, passing, pressure, pressed>>
  /\ Note

(* Complete: all cowns of the message are released, or muted if it sent to    *)
(* where it should not. Of those released, who has nothing to do is normal;   *)
(* without Chain, only if there is no mutor. In a chain a mutor that is       *)
(* normal again mutes nobody. Otherwise it frees them in the same step, as    *)
(* normal as they were.                                                       *)

Muting(cown) ==
  IF mutor[cown] = Null THEN {}
  ELSE IF Chain /\ priority[mutor[cown]] = 0 /\ Mutant # "only_dropped" THEN {}
  ELSE {c \in CurrentMessage(cown) :
          Careless \/ (CanBeMuted(c, priority) /\ c \notin WaitsFor(mutor[cown]))}

Resets(cown) ==
  /\ Mutant # "priority_not_reset"
  /\ mutor[cown] = Null \/ (Chain /\ Mutant # "no_reset_with_mutor")

Emptied(cown) ==
  IF ~Resets(cown) THEN {}
  ELSE {c \in CurrentMessage(cown) \ Muting(cown) :
          /\ Len(queue[c]) = (IF c = cown THEN 1 ELSE 0)
          /\ HoldersToKeep(c, FirstWaiting(c)) = {}
          /\ c \notin pressed \/ Mutant = "pressure_forgotten"}

DonePriority(cown) ==
  LET muting == Muting(cown)
      emptied == Emptied(cown)
  IN  [c \in Cowns |-> CASE c \in muting -> -1 [] c \in emptied -> 0 [] OTHER -> priority[c]]

DoneMute(cown) ==
  LET by == CASE Mutant = "mute_without_entry" -> Null
              [] Mutant = "mute_self" -> cown
              [] OTHER -> mutor[cown]
      muting == Muting(cown)
  IN  [k \in Cowns |-> IF k = by THEN mute[k] \cup muting ELSE mute[k]]

DoneScheduled(cown) ==
  LET released == IF Mutant = "forget_release" THEN {cown} ELSE CurrentMessage(cown)
      kept == IF Mutant = "mute_but_schedule" THEN {} ELSE Muting(cown)
  IN  [c \in Cowns |-> (c \in released \/ scheduled[c]) /\ c \notin kept]

DoneQueue(cown) == [queue EXCEPT ![cown] = Tail(@)]

Complete(cown) ==
  /\ running[cown]
  /\ queue' = DoneQueue(cown)
  /\ running' = [running EXCEPT ![cown] = FALSE]
  /\ mutor' = [mutor EXCEPT ![cown] = Null]
  /\ priority' = FreePriority(DonePriority(cown), DoneMute(cown), DoneQueue(cown))
  /\ mute' = FreeMute(DonePriority(cown), DoneMute(cown), DoneQueue(cown))
  /\ scheduled' = FreeScheduled(DonePriority(cown), DoneMute(cown), DoneQueue(cown),
                                DoneScheduled(cown))
  /\ UNCHANGED <<fuel, blocker, passing, pressure, pressed>>
  /\ Note

(* Unmute: frees whom normal cowns have muted. With Eager there is never      *)
(* anybody left for it.                                                       *)

OnIdle == Mutant = "unmute_on_idle"

Unmuting ==
  IF OnIdle THEN LowPriority(Cowns)
  ELSE LowPriority(UNION {mute[k] : k \in {c \in Cowns : priority[c] = 0}})

Unmute ==
  /\ Mutant # "unmute_never"
  /\ Unmuting # {}
  /\ OnIdle => (\E c \in Cowns : Sleeping(c)) \/ (\A c \in Cowns : ~scheduled[c])
  /\ priority' = [c \in Cowns |-> IF c \in Unmuting THEN 0 ELSE priority[c]]
  /\ mute' = [k \in Cowns |-> IF OnIdle \/ priority[k] = 0 THEN {} ELSE mute[k]]
  /\ scheduled' = [c \in Cowns |-> c \in Unmuting \/ scheduled[c]]
  /\ UNCHANGED <<fuel, queue, running, blocker, passing, mutor, pressure, pressed>>
  /\ Note

(* Press: the environment cannot take more from a cown. That is as good as a  *)
(* long queue: it gets priority, with all that it waits behind, and its       *)
(* senders are muted. Release: now it can. Nothing need ever be sent to it    *)
(* again, so those whom it has muted are freed here and now, unless it has    *)
(* priority for another reason.                                               *)

RaisedByPress(cown) ==
  IF Mutant = "press_skips_blockers" THEN {cown} ELSE Prioritizing({cown})

Press(cown) ==
  /\ pressure > 0
  /\ cown \notin pressed
  /\ pressure' = pressure - 1
  /\ pressed' = pressed \cup {cown}
  /\ priority' = RaisedPriority(RaisedByPress(cown))
  /\ scheduled' = RaisedScheduled(RaisedByPress(cown))
  /\ mute' = RaisedMute(RaisedByPress(cown))
  /\ UNCHANGED <<fuel, queue, running, blocker, passing, mutor>>
  /\ Note

StaysHigh(cown) ==
  \/ Overloaded(cown)
  \/ UrgentHolders(cown, FirstWaiting(cown), priority) # {}
     /\ Mutant # "release_forgets_holder"
  \/ Mutant = "release_keeps_high"

PriorityAtRelease(cown) ==
  [priority EXCEPT ![cown] = IF @ = 1 /\ ~StaysHigh(cown) THEN 0 ELSE @]

Release(cown) ==
  /\ cown \in pressed
  /\ pressed' = pressed \ {cown}
  /\ priority' = FreePriority(PriorityAtRelease(cown), mute, queue)
  /\ mute' = FreeMute(PriorityAtRelease(cown), mute, queue)
  /\ scheduled' = FreeScheduled(PriorityAtRelease(cown), mute, queue, scheduled)
  /\ UNCHANGED <<fuel, queue, running, blocker, passing, mutor, pressure>>
  /\ Note

Run(cown) == Acquire(cown) \/ Arrive(cown) \/ Prerun(cown) \/ Send(cown) \/ Complete(cown)

Next == Terminating \/ \E c \in Cowns : Run(c) \/ Press(c) \/ Release(c) \/ Unmute

Spec ==
  /\ Init /\ [][Next]_vars
  /\ \A c \in Cowns : WF_vars(Run(c))
  /\ \A c \in Cowns : WF_vars(Release(c))
  /\ WF_vars(Unmute)

(* -------------------------- properties: the seed's ----------------------- *)

MessageLimit ==
  SumOver(Cowns, [c \in Cowns |-> Len(queue[c])]) <= BehaviourLimit + Cardinality(Cowns)

RunningIsScheduled ==
  \A c \in Cowns : running[c] => scheduled[c] /\ c = Max(CurrentMessage(c))

CownNotMutedBySelf == \A c \in Cowns : c \notin mute[c]

LowPriorityMuted == \A c \in LowPriority(Cowns) : Muted(c)

WillScheduleCown ==
  \E c \in Cowns :
    \/ scheduled[c]
    \/ priority[c] = -1 /\ \E k \in Cowns : c \in mute[k] /\ priority[k] = 0

\* Nothing of high priority is held by a message that waits for a muted cown, or is on its way
\* there.
Nonblocking ==
  /\ \A c \in Cowns : \A m \in Messages(c) :
       ~(\E h \in HighPriority(m) : \E l \in LowPriority(m) : h < c /\ l <= c)
  /\ \A c \in passing :
       blocker[c] \in LowPriority(Cowns) => \A h \in HighPriority(CurrentMessage(c)) : h > c

RunningNotBlocked ==
  \A c \in Cowns : running[c] => \A k \in CurrentMessage(c) : blocker[k] = Null

AcquiredBy(a, b) == a < b /\ a \in InQueue(b)
Acquired(c) == c \in passing \/ \E k \in Cowns : AcquiredBy(c, k)
Required(c) == \E k \in Cowns : k < c /\ c \in InQueue(k)

UnscheduledByMuteOrAcquire ==
  \A c \in Cowns : scheduled[c] <=> ~(priority[c] = -1 \/ Acquired(c))

BehaviourAcquisition ==
  \A c \in Cowns : (c \in passing => ~scheduled[c]) /\ \A k \in InQueue(c) : k < c => ~scheduled[k]

AcquiredOnce ==
  \A a \in Cowns : \A b \in Cowns : \A c \in Cowns :
    AcquiredBy(a, b) /\ AcquiredBy(a, c) => b = c

SelfInCurrentMessage == \A c \in Cowns : queue[c] # <<>> => c \in CurrentMessage(c)

HighPriorityScheduledOrAcquired ==
  \A c \in HighPriority(Cowns) : scheduled[c] \/ Acquired(c)

\* Pressure is a reason for priority without work, here and below.
HighPriorityInQueue ==
  \A c \in HighPriority(Cowns) \ pressed : \E k \in Cowns : c \in InQueue(k)

SleepingIsNormalOrRequired ==
  \A c \in Cowns \ pressed : Sleeping(c) => priority[c] = 0 \/ Required(c)

Termination == <>[](\A c \in Cowns : Sleeping(c))

SomeCownWillBeScheduled == []<>(\E c \in Cowns : scheduled[c])

(* ----------------------------- properties: ours -------------------------- *)

FreedByNormal == "freed early" \notin mistakes
MutedForLoad == "muted idly" \notin mistakes
UrgencyPassedOn == "held up" \notin mistakes
RaisedForHolder == "raised idly" \notin mistakes
MeasureFalls == "not less" \notin mistakes

\* A cown in whose queue a message waits that holds one of high priority has it, too; or one to
\* which such a message is on its way. This is what Nonblocking rests on.
WaitedForIsHigh ==
  \A c \in Cowns : UrgentHolders(c, FirstWaiting(c), priority) # {} => priority[c] = 1

PressedIsHigh == \A c \in pressed : priority[c] = 1

\* With Eager.
NormalMutesNobody == Eager => \A k \in Cowns : priority[k] = 0 => mute[k] = {}

\* These hold with ClearOnPriority only; the third with Eager too.
MuteSetIsLow == \A k \in Cowns : \A c \in mute[k] : priority[c] = -1
MuteSetsDisjoint == \A k \in Cowns : \A l \in Cowns : k # l => mute[k] \cap mute[l] = {}
NoMuteLeftAtEnd == (\A c \in Cowns : Sleeping(c)) => \A k \in Cowns : mute[k] = {}

\* With Hopwise: otherwise priority is given to cowns that a message has yet to reach.
\* A message that is on its way to a cown is work for it.
Awaiting(c) == \E k \in passing : blocker[k] = c
HighPriorityHasWork ==
  Hopwise => \A c \in HighPriority(Cowns) \ pressed : queue[c] # <<>> \/ Acquired(c) \/ Awaiting(c)
SleepingIsNormal ==
  Hopwise => \A c \in Cowns \ pressed : Sleeping(c) => priority[c] = 0 \/ Awaiting(c)
=============================================================================
