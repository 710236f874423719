--------------------------- MODULE scheduler_built ---------------------------
(* What the event layer builds of specs/scheduler. One lock guards phases,   *)
(* lists, the group and the runners; each handler has a lock of its own for  *)
(* its events. An action is what happens under one of these locks at once.   *)
(*                                                                           *)
(* A putter adds an event. If the queue was empty it triggers the handler in *)
(* a step of its own, which puts it into the wait set or, while it runs,     *)
(* notes that it has to run again, and wakes an idle runner. A runner first  *)
(* moves the whole wait set to the rear of the run queue, by class, and then *)
(* takes the first handler whose group is free; it goes on with the next     *)
(* take in the step in which it finishes. A handler whose group is held      *)
(* waits in the queue of the group, and is handed it over. A detached run    *)
(* (a coroutine) does not keep its runner, and may leave its group while it  *)
(* awaits a call.                                                            *)
(*                                                                           *)
(* The supply of events is endless, and a queue holds at most Events.        *)
(*                                                                           *)
(* `passed`, `queue_passed`, `group_passed` and `front_passed` only watch:   *)
(* they measure how long one handler, the watched one, has to wait.          *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Subscribers, Servers, Clients,  \* how many handlers there are of each class
  Workers,   \* who may run handlers: the runners
  Putters,   \* threads that put events
  Events,    \* how many events may wait for a handler
  Budget,    \* how many events a run consumes at most
  Grouped,   \* the first so many handlers share an exclusive group
  Async,     \* the last so many run detached from their runner
  Calls,     \* how often a detached run may leave its group for a call
  OneWake,   \* whether the end of a detached run wakes one even if two are to be run
  Watched,   \* the handler whose wait is measured, or -1
  Less,      \* 0, or 1 to ask for less than the bounds: they are tight
  Mutant     \* "none", or the mistake that is made, see README.md

VARIABLES
  phase,        \* of each handler: "waiting", "triggered", "queued", "grouped" or "running"
  pending,      \* of each handler: events in its queue
  again,        \* handlers that were triggered while they run
  consumed,     \* running handlers that have taken their events
  more,         \* those of them that have left some
  place,        \* of each handler: "inside", or "outside" or "returning" in a run that calls
  calls,        \* of each handler: how often its run has left the group
  wait_set,     \* triggered handlers, in the order of the triggers
  run_queue,    \* handlers to be run, the first first
  group_queue,  \* grouped handlers, and those that return
  holder,       \* who has the group
  mode,         \* of each runner: "idle", "woken" (it is going to take) or "running"
  task,         \* what each runner runs
  target,       \* of each putter: the handler that it has to trigger
  seen,         \* of each putter: what a mutant saw before it puts, or "no"
  passed,       \* ghost: starts of others since the watched handler was triggered
  queue_passed, \* ghost: the same since it was moved, and the runs under way then
  group_passed, \* ghost: who had the group since it waits for that
  front_passed  \* ghost: starts of others since it was handed the group

events == <<pending, again, consumed, more, calls>>
lists == <<phase, place, wait_set, run_queue, group_queue, holder>>
runners == <<mode, task>>
putters == <<target, seen>>
observed == <<passed, queue_passed, group_passed, front_passed>>
vars == <<events, lists, runners, putters, observed>>

N == Subscribers + Servers + Clients
Handler == 0..(N - 1)
NoOne == -1
Class(i) == IF i < Subscribers THEN 0 ELSE IF i < Subscribers + Servers THEN 1 ELSE 2
Member(i) == i < Grouped
Detached(i) == i >= N - Async

Range(q) == {q[k] : k \in 1..Len(q)}
Min(a, b) == IF a < b THEN a ELSE b
One(b) == IF b THEN 1 ELSE 0

Init ==
  /\ phase = [i \in Handler |-> "waiting"]
  /\ pending = [i \in Handler |-> 0]
  /\ again = {} /\ consumed = {} /\ more = {}
  /\ place = [i \in Handler |-> "inside"]
  /\ calls = [i \in Handler |-> 0]
  /\ wait_set = <<>> /\ run_queue = <<>> /\ group_queue = <<>>
  /\ holder = NoOne
  /\ mode = [r \in Workers |-> "idle"]
  /\ task = [r \in Workers |-> NoOne]
  /\ target = [p \in Putters |-> NoOne]
  /\ seen = [p \in Putters |-> "no"]
  /\ passed = 0 /\ queue_passed = 0 /\ group_passed = 0 /\ front_passed = 0

(* ------------------- what is done under the one lock --------------------- *)

\* A step may end a run and take the next: so each part of it turns one such record into another.
Now == [phase |-> phase, place |-> place, wait |-> wait_set, queue |-> run_queue,
        group |-> group_queue, holder |-> holder]

Become(x) ==
  /\ phase' = x.phase /\ place' = x.place
  /\ wait_set' = x.wait /\ run_queue' = x.queue /\ group_queue' = x.group
  /\ holder' = x.holder

\* Of the idle runners so many are woken, or all: whichever.
Wake(n) ==
  LET idle == {r \in Workers : mode[r] = "idle"}
  IN \E some \in SUBSET idle :
       /\ Cardinality(some) = Min(n, Cardinality(idle))
       /\ mode' = [r \in Workers |-> IF r \in some THEN "woken" ELSE mode[r]]

ByClass(q) ==
  SelectSeq(q, LAMBDA i : Class(i) = 0) \o SelectSeq(q, LAMBDA i : Class(i) = 1)
    \o SelectSeq(q, LAMBDA i : Class(i) = 2)

\* All that is triggered goes behind all that is queued.
Scheduled(x) ==
  LET all == ByClass(x.wait)
      batch == IF Mutant = "one_a_step" /\ Len(all) > 1 THEN <<all[1]>> ELSE all
      moved == Range(batch)
  IN [x EXCEPT
       !.wait = SelectSeq(x.wait, LAMBDA i : i \notin moved),
       !.queue = IF Mutant = "class_order" THEN ByClass(x.queue \o batch) ELSE x.queue \o batch,
       !.phase = [i \in Handler |-> IF i \in moved THEN "queued" ELSE x.phase[i]]]

Held(x, i) == Member(i) /\ x.holder # NoOne /\ x.holder # i

Reversed(q) == [k \in 1..Len(q) |-> q[Len(q) + 1 - k]]

\* Where in the queue the first handler stands that can be started, or 0.
FirstFree(x, q) ==
  LET free == {k \in 1..Len(q) : Mutant = "ignore_group" \/ ~Held(x, q[k])}
  IN IF free = {} THEN 0 ELSE CHOOSE k \in free : \A l \in free : k <= l

\* A runner takes the k-th of the queue q, or nothing if k is 0. Whom it passes over, since their
\* group is held, goes to the queue of the group. [x: what becomes of the lists, start: who starts]
TakenAt(x, q, k) ==
  LET start == IF k = 0 THEN NoOne ELSE q[k]
      skipped == SubSeq(q, 1, IF k = 0 THEN Len(q) ELSE k - 1)
      left == IF k = 0 THEN <<>> ELSE SubSeq(q, k + 1, Len(q))
      stays == Mutant = "skip_busy_group"
  IN [start |-> start,
      x |-> [x EXCEPT
              !.queue = CASE stays -> left \o skipped
                          [] Mutant = "lifo_queue" -> Reversed(left)
                          [] OTHER -> left,
              !.group = IF stays THEN x.group ELSE x.group \o skipped,
              !.holder = IF start # NoOne /\ Member(start) THEN start ELSE x.holder,
              !.phase = [i \in Handler |-> IF i = start THEN "running"
                                           ELSE IF ~stays /\ i \in Range(skipped) THEN "grouped"
                                           ELSE x.phase[i]]]]

TakenFrom(x, q) == TakenAt(x, q, FirstFree(x, q))
TakenIn(x) == TakenFrom(x, IF Mutant = "lifo_queue" THEN Reversed(x.queue) ELSE x.queue)

\* The step of a runner that takes.
Taken(x) == TakenIn(Scheduled(x))

\* The first in the queue of the group has it now. One that returns goes on by itself; any other is
\* to be run next.
HandedOver(x) ==
  IF x.group = <<>> \/ Mutant = "no_handover" THEN [x EXCEPT !.holder = NoOne]
  ELSE LET i == Head(x.group)
           y == [x EXCEPT !.holder = i, !.group = Tail(x.group)]
       IN IF x.phase[i] = "running" THEN [y EXCEPT !.place = [x.place EXCEPT ![i] = "inside"]]
          ELSE [y EXCEPT !.phase = [x.phase EXCEPT ![i] = "queued"],
                         !.queue = IF Mutant = "handover_to_rear" THEN Append(x.queue, i)
                                   ELSE <<i>> \o x.queue]

\* The end of a run.
Finished(x, i) ==
  LET ready == (i \in more /\ Mutant # "forget_pending") \/ (i \in again /\ Mutant # "forget_again")
      at == IF ready THEN "triggered" ELSE IF Mutant = "drop_requeue" THEN "running" ELSE "waiting"
      y == [x EXCEPT !.phase = [x.phase EXCEPT ![i] = at],
                     !.wait = IF ready THEN Append(x.wait, i) ELSE x.wait,
                     !.place = [x.place EXCEPT ![i] = "inside"]]
  IN IF x.holder = i THEN HandedOver(y) ELSE y

\* What belongs to a run goes with it.
Forget(i) ==
  /\ again' = again \ {i} /\ consumed' = consumed \ {i} /\ more' = more \ {i}
  /\ calls' = [calls EXCEPT ![i] = 0]
  /\ UNCHANGED pending

\* How many more are to be run after i has ended its run, or has left its group.
Ready(x, i) ==
  One(x.phase[i] = "triggered")
    + One(x.holder # NoOne /\ x.holder # i /\ x.phase[x.holder] = "queued")

(* ------------------------------- the watch ------------------------------- *)

Others == N - 1 - Less
Members == IF Grouped = 0 THEN 0 ELSE Grouped - 1 - Less

InQueue(ph, h) == ph[Watched] = "queued" /\ h # Watched
Waits(ph, h) == ph[Watched] = "triggered" \/ InQueue(ph, h)
InGroup(ph, pl) == ph[Watched] = "grouped" \/ pl[Watched] = "returning"
InFront(ph, h) == ph[Watched] = "queued" /\ h = Watched

\* `start` is the handler that starts in this step, or NoOne. The counters stop just above their
\* bounds.
Watch(start) ==
  IF Watched = -1 THEN UNCHANGED observed
  ELSE LET other == One(start # NoOne /\ start # Watched)
           underway == {i \in Handler \ {Watched} : phase'[i] = "running"}
       IN /\ passed' = IF ~Waits(phase', holder') THEN 0
                       ELSE IF Waits(phase, holder) THEN Min(passed + other, N)
                       ELSE other
          /\ queue_passed' = IF ~InQueue(phase', holder') THEN 0
                             ELSE IF InQueue(phase, holder) THEN Min(queue_passed + other, N)
                             ELSE Cardinality(underway)
          /\ group_passed' = IF ~InGroup(phase', place') THEN 0
                             ELSE IF ~InGroup(phase, place) THEN 1
                             ELSE Min(group_passed + One(holder' # holder), Grouped)
          /\ front_passed' = IF ~InFront(phase, holder) /\ ~InFront(phase', holder') THEN 0
                             ELSE Min(front_passed + other, 1)

(* -------------------------------- putters -------------------------------- *)

ToTrigger(p) == IF seen[p] = "no" THEN target[p] ELSE NoOne

\* Under the lock of the handler. Who found the queue empty has to trigger.
put(p, i) ==
  /\ IF Mutant = "look_outside" THEN seen[p] # "no" /\ target[p] = i ELSE target[p] = NoOne
  /\ pending[i] < Events
  /\ LET empty == IF seen[p] = "no" THEN pending[i] = 0 ELSE seen[p] = "empty"
     IN target' = [target EXCEPT ![p] = IF empty THEN i ELSE NoOne]
  /\ seen' = [seen EXCEPT ![p] = "no"]
  /\ pending' = [pending EXCEPT ![i] = @ + 1]
  /\ UNCHANGED <<again, consumed, more, calls, lists, runners>>
  /\ Watch(NoOne)

\* A mutant: it looks whether the queue is empty before it locks it.
look_first(p, i) ==
  /\ Mutant = "look_outside"
  /\ target[p] = NoOne
  /\ target' = [target EXCEPT ![p] = i]
  /\ seen' = [seen EXCEPT ![p] = IF pending[i] = 0 THEN "empty" ELSE "some"]
  /\ UNCHANGED <<events, lists, runners, observed>>

trigger(p) ==
  /\ ToTrigger(p) # NoOne
  /\ LET i == target[p]
         moves == phase[i] = "waiting" \/ (phase[i] = "running" /\ Mutant = "trigger_running")
     IN /\ Become(IF moves THEN [Now EXCEPT !.phase = [phase EXCEPT ![i] = "triggered"],
                                            !.wait = Append(wait_set, i)]
                  ELSE Now)
        /\ again' = IF ~moves /\ phase[i] = "running" THEN again \cup {i} ELSE again
        /\ Wake(IF Mutant = "no_wake" THEN 0 ELSE One(moves))
  /\ target' = [target EXCEPT ![p] = NoOne]
  /\ UNCHANGED <<pending, consumed, more, calls, task, seen>>
  /\ Watch(NoOne)

(* -------------------------------- runners -------------------------------- *)

\* A detached run goes on without the runner, which takes again.
RunBy(r, start) ==
  /\ mode' = [mode EXCEPT ![r] = IF start = NoOne THEN "idle"
                                 ELSE IF Detached(start) THEN "woken"
                                 ELSE "running"]
  /\ task' = [task EXCEPT ![r] = IF start # NoOne /\ ~Detached(start) THEN start ELSE NoOne]

take(r) ==
  /\ mode[r] = "woken"
  /\ \E taken \in {Taken(Now)} :
       Become(taken.x) /\ RunBy(r, taken.start) /\ Watch(taken.start)
  /\ UNCHANGED <<events, putters>>

\* Under the lock of the handler.
Consume(i) ==
  LET n == Min(Budget, pending[i])
  IN /\ pending' = [pending EXCEPT ![i] = @ - n]
     /\ consumed' = consumed \cup {i}
     /\ more' = IF pending[i] > n THEN more \cup {i} ELSE more \ {i}
     /\ UNCHANGED <<again, calls, lists, runners, putters>>
     /\ Watch(NoOne)

consume(r) ==
  /\ mode[r] = "running"
  /\ task[r] \notin consumed
  /\ Consume(task[r])

finish_and_take(r) ==
  /\ mode[r] = "running"
  /\ task[r] \in consumed
  /\ \E taken \in {Taken(Finished(Now, task[r]))} :
       Become(taken.x) /\ RunBy(r, taken.start) /\ Watch(taken.start)
  /\ Forget(task[r])
  /\ UNCHANGED putters

runner(r) == take(r) \/ consume(r) \/ finish_and_take(r)

(* ----------------------------- detached runs ----------------------------- *)

Inside(i) == phase[i] = "running" /\ place[i] = "inside"

consume_detached(i) ==
  /\ Detached(i) /\ Inside(i)
  /\ i \notin consumed
  /\ Consume(i)

finish_detached(i) ==
  /\ Detached(i) /\ Inside(i)
  /\ i \in consumed
  /\ \E x \in {Finished(Now, i)} :
       /\ Become(x)
       /\ Wake(IF Mutant = "finish_wakes_nobody" THEN 0
               ELSE IF OneWake THEN Min(1, Ready(x, i))
               ELSE Ready(x, i))
  /\ Forget(i)
  /\ UNCHANGED <<task, putters>>
  /\ Watch(NoOne)

\* It awaits a call, and others of its group may run meanwhile.
leave_group(i) ==
  /\ Detached(i) /\ Inside(i) /\ Member(i)
  /\ i \in consumed
  /\ calls[i] < Calls
  /\ \E x \in {HandedOver([Now EXCEPT !.place = [place EXCEPT ![i] = "outside"]])} :
       /\ Become(x)
       /\ Wake(IF Mutant = "leave_wakes_nobody" THEN 0 ELSE Ready(x, i))
  /\ calls' = [calls EXCEPT ![i] = @ + 1]
  /\ UNCHANGED <<pending, again, consumed, more, task, putters>>
  /\ Watch(NoOne)

\* The call has returned.
enter_group(i) ==
  /\ phase[i] = "running" /\ place[i] = "outside"
  /\ Become(IF holder = NoOne \/ Mutant = "enter_without_waiting"
            THEN [Now EXCEPT !.holder = i, !.place = [place EXCEPT ![i] = "inside"]]
            ELSE [Now EXCEPT !.group = Append(group_queue, i),
                             !.place = [place EXCEPT ![i] = "returning"]])
  /\ UNCHANGED <<events, runners, putters>>
  /\ Watch(NoOne)

detached(i) == consume_detached(i) \/ finish_detached(i) \/ enter_group(i)

\* A mutant: a run looks for events once more. Nothing makes it go on like that for ever.
consume_more(i) ==
  /\ Mutant = "consume_piecemeal"
  /\ Inside(i)
  /\ i \in consumed
  /\ pending[i] > 0
  /\ Consume(i)

(* ---------------------------------- spec --------------------------------- *)

Next ==
  \/ \E p \in Putters :
       \/ trigger(p)
       \/ \E i \in Handler : put(p, i) \/ look_first(p, i)
  \/ \E r \in Workers : runner(r)
  \/ \E i \in Handler : detached(i) \/ leave_group(i) \/ consume_more(i)

\* Nobody has to put an event, or to call somebody; a call returns.
Spec ==
  /\ Init /\ [][Next]_vars
  /\ \A p \in Putters : WF_vars(trigger(p))
  /\ \A r \in Workers : WF_vars(runner(r))
  /\ \A i \in Handler : WF_vars(detached(i))

(* ------------------------------- properties ------------------------------ *)

TypeOK ==
  /\ \A i \in Handler :
       /\ phase[i] \in {"waiting", "triggered", "queued", "grouped", "running"}
       /\ pending[i] \in 0..Events
       /\ place[i] \in {"inside", "outside", "returning"}
       /\ calls[i] \in 0..Calls
  /\ again \subseteq Handler /\ consumed \subseteq Handler /\ more \subseteq Handler
  /\ holder \in Handler \cup {NoOne}
  /\ \A r \in Workers : mode[r] \in {"idle", "woken", "running"}
  /\ \A r \in Workers : task[r] \in Handler \cup {NoOne}
  /\ \A p \in Putters : target[p] \in Handler \cup {NoOne}

Times(q, i) == Cardinality({k \in 1..Len(q) : q[k] = i})
Running(i) == phase[i] = "running"

\* A handler is in the list that its phase says, once, and only a run has what belongs to a run.
OneState ==
  \A i \in Handler :
    /\ Times(wait_set, i) = One(phase[i] = "triggered")
    /\ Times(run_queue, i) = One(phase[i] = "queued")
    /\ Times(group_queue, i) = One(phase[i] = "grouped" \/ place[i] = "returning")
    /\ i \in again \cup consumed \cup more => Running(i)
    /\ place[i] # "inside" \/ calls[i] > 0 => Running(i)

RunnersOf(i) == {r \in Workers : task[r] = i}

\* What runs has a runner, if it is not detached.
RunningIsHeld == \A i \in Handler : Detached(i) \/ (Running(i) <=> RunnersOf(i) # {})

NeverReentered == \A i \in Handler : Cardinality(RunnersOf(i)) <= One(~Detached(i))

\* Who is about to trigger a handler finds it waiting or running.
TriggerFindsItFree ==
  \A p \in Putters : ToTrigger(p) # NoOne => phase[ToTrigger(p)] \in {"waiting", "running"}

\* Somebody will see to every event.
TriggerKept ==
  \A i \in Handler : pending[i] > 0 =>
    \/ phase[i] \in {"triggered", "queued", "grouped"}
    \/ Running(i) /\ (i \notin consumed \/ i \in more \/ i \in again)
    \/ \E p \in Putters : ToTrigger(p) = i

\* A run that starts finds an event.
NothingGroundless == \A i \in Handler : Running(i) /\ i \notin consumed => pending[i] > 0

\* Of a group at most one is inside, and it holds the group; who holds it without running is the
\* next to run.
GroupExclusive ==
  /\ \A i \in Handler : Member(i) /\ Inside(i) => holder = i
  /\ \/ holder = NoOne
     \/ Inside(holder)
     \/ run_queue # <<>> /\ run_queue[1] = holder

GroupHandedOver == group_queue # <<>> => holder # NoOne

\* How many handlers could be started at once: of a group it is one, if it is free or was handed
\* over, and none, if another runs in it.
Startable ==
  LET able == {i \in Range(wait_set) \cup Range(run_queue) : ~Held(Now, i)}
  IN Cardinality({i \in able : ~Member(i)}) + One(\E i \in able : Member(i))

Are(m) == Cardinality({r \in Workers : mode[r] = m})

WorkConserving == Are("idle") > 0 => Startable <= Are("woken")

PassedSinceTrigger == Watched = -1 \/ passed <= Others
PassedInQueue == Watched = -1 \/ queue_passed <= Others
PassedInGroup == group_passed = 0 \/ group_passed <= Members
NextToStart == front_passed = 0

starvation_free ==
  \A i \in Handler : (phase[i] \in {"triggered", "queued", "grouped"}) ~> Running(i)

HasConsumed(i) == Running(i) /\ i \in consumed
EventConsumed == \A i \in Handler : (pending[i] > 0 /\ ~HasConsumed(i)) ~> HasConsumed(i)

CallReturns == \A i \in Handler : (place[i] # "inside") ~> (place[i] = "inside")
=============================================================================
