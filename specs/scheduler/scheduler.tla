------------------------------ MODULE scheduler ------------------------------
(* Event handlers ("tasks") in three classes. A trigger puts a task into the *)
(* wait set. A step of the scheduler moves every task that is triggered and  *)
(* waits to the run queue: subscribers before servers before clients within  *)
(* the step, behind all that is queued already. Workers run the first of the *)
(* queue; a task that has run waits again.                                   *)
(*                                                                           *)
(* "as_written" is seed 000: nothing ever leaves the wait set. "consume" is  *)
(* what we build: the step takes what it moves out of the wait set, and a    *)
(* trigger that comes while its task is queued or runs stays there and makes *)
(* the task run once more.                                                   *)
(*                                                                           *)
(* `due` and `groundless` only watch, so that lost and invented events show. *)
(* `passed`, `queue_passed` and `left_behind` measure how long one task, the *)
(* watched one, has to wait.                                                 *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Subscribers, Servers, Clients,  \* how many tasks there are of each class
  Workers,    \* the threads
  Variant,    \* "as_written" or "consume"
  UsedUp,     \* whether to ask that events are used up (not so as written)
  Watched,    \* the task whose wait is measured, or -1
  Less,       \* 0, or 1 to ask for less than the bounds: they are tight
  Mutant      \* "none", or the mistake that is made, see README.md

VARIABLES
  wait_set,      \* triggered tasks
  run_queue,     \* tasks to be run, the first first
  running,       \* tasks that some worker runs
  waiting,       \* tasks that are neither queued nor running
  at,            \* where each worker is: "start_worker" or "finish_task"
  task,          \* what each worker ran last, or runs
  due,           \* ghost: tasks with a trigger that the scheduler has not answered
  groundless,    \* ghost: tasks that were moved without a trigger
  passed,        \* ghost: starts of others since the watched task is triggered and waits
  queue_passed,  \* ghost: the same since it was moved, and the runs under way then
  left_behind    \* ghost: whether a step of the scheduler did not move it

observed == <<passed, queue_passed, left_behind>>
vars == <<wait_set, run_queue, running, waiting, at, task, due, groundless, observed>>

N == Subscribers + Servers + Clients
Task == 0..(N - 1)
NoTask == -1
Class(t) == IF t < Subscribers THEN 0 ELSE IF t < Subscribers + Servers THEN 1 ELSE 2
Consumes == Variant = "consume"

Range(q) == {q[i] : i \in 1..Len(q)}
Queued == Range(run_queue)

\* The members of a set of tasks in ascending order, which is the order of their classes.
InOrder(S) == SelectSeq([i \in 1..N |-> i - 1], LAMBDA t : t \in S)

Init ==
  /\ wait_set = {} /\ run_queue = <<>> /\ running = {} /\ waiting = Task
  /\ at = [w \in Workers |-> "start_worker"]
  /\ task = [w \in Workers |-> NoTask]
  /\ due = {} /\ groundless = {}
  /\ passed = 0 /\ queue_passed = 0 /\ left_behind = FALSE

(* ------------------------------- the watch ------------------------------- *)

Min(a, b) == IF a < b THEN a ELSE b

\* The tasks 0 .. Watched - 1 stand before the watched one in the order of a batch.
QueueBound == N - 1 - Less
TriggerBound == N - 1 + Watched - Less

Waits == Watched \in (wait_set \cap waiting)
InQueue == Watched \in Queued

\* `started` is the task that starts in this step, or NoTask; `step`: the scheduler makes it. The
\* counters stop just above their bounds.
Watch(started, step) ==
  LET waits2 == Watched \in (wait_set' \cap waiting')
      queued2 == Watched \in Range(run_queue')
      other == started # NoTask /\ started # Watched
  IN /\ passed' = IF ~waits2 /\ ~queued2 THEN 0
                  ELSE IF other /\ (Waits \/ InQueue) THEN Min(passed + 1, N + Watched)
                  ELSE passed
     /\ queue_passed' = IF ~queued2 THEN 0
                        ELSE IF ~InQueue THEN Cardinality(running')
                        ELSE IF other THEN Min(queue_passed + 1, N)
                        ELSE queue_passed
     /\ left_behind' = IF ~waits2 /\ ~queued2 THEN FALSE
                       ELSE left_behind \/ (step /\ Waits /\ waits2)

(* ------------------------------- scheduler ------------------------------- *)

\* What a step moves.
ToMove ==
  CASE Mutant = "untriggered" -> waiting
    [] Mutant = "reenter" -> wait_set \ Queued
    [] Mutant = "one_a_step" /\ waiting \cap wait_set # {} ->
         {InOrder(waiting \cap wait_set)[1]}
    [] OTHER -> waiting \cap wait_set

Appended(q, batch) ==
  CASE Mutant = "class_order" ->
         LET all == q \o batch
         IN SelectSeq(all, LAMBDA t : Class(t) = 0) \o SelectSeq(all, LAMBDA t : Class(t) = 1)
              \o SelectSeq(all, LAMBDA t : Class(t) = 2)
    [] Mutant = "drop_client" /\ Len(batch) > 1 -> q \o SubSeq(batch, 1, Len(batch) - 1)
    [] OTHER -> q \o batch

start_sched ==
  /\ wait_set # {}
  /\ LET tasks == ToMove
     IN /\ run_queue' = Appended(run_queue, InOrder(tasks))
        /\ waiting' = IF Mutant = "keep_waiting" THEN waiting ELSE waiting \ tasks
        /\ wait_set' = IF ~Consumes \/ Mutant = "keep_event" THEN wait_set
                       ELSE IF Mutant = "clear_all" THEN {}
                       ELSE wait_set \ tasks
        /\ due' = IF Consumes THEN due \ tasks ELSE due
        /\ groundless' = groundless \cup (tasks \ due)
  /\ UNCHANGED <<running, at, task>>
  /\ Watch(NoTask, TRUE)

(* -------------------------------- triggers ------------------------------- *)

trigger(t) ==
  /\ wait_set' = IF Mutant = "forget_busy_trigger" /\ t \notin waiting THEN wait_set
                 ELSE wait_set \cup {t}
  /\ due' = due \cup {t}
  /\ UNCHANGED <<run_queue, running, waiting, at, task, groundless>>
  /\ Watch(NoTask, FALSE)

(* -------------------------------- workers -------------------------------- *)

start_worker(w) ==
  /\ at[w] = "start_worker"
  /\ run_queue # <<>>
  /\ LET i == IF Mutant = "lifo_queue" THEN Len(run_queue) ELSE 1
         t == run_queue[i]
     IN /\ task' = [task EXCEPT ![w] = t]
        /\ run_queue' = CASE Mutant = "lifo_queue" -> SubSeq(run_queue, 1, i - 1)
                          [] Mutant = "start_without_pop" -> run_queue
                          [] OTHER -> Tail(run_queue)
        /\ running' = running \cup {t}
        /\ at' = [at EXCEPT ![w] = "finish_task"]
        /\ UNCHANGED <<wait_set, waiting, due, groundless>>
        /\ Watch(t, FALSE)

finish_task(w) ==
  /\ at[w] = "finish_task"
  /\ Mutant # "never_finish"
  /\ running' = running \ {task[w]}
  /\ waiting' = IF Mutant = "drop_requeue" THEN waiting ELSE waiting \cup {task[w]}
  /\ at' = [at EXCEPT ![w] = "start_worker"]
  /\ UNCHANGED <<wait_set, run_queue, task, due, groundless>>
  /\ Watch(NoTask, FALSE)

worker(w) == start_worker(w) \/ finish_task(w)

(* ---------------------------------- spec --------------------------------- *)

Next ==
  \/ start_sched
  \/ \E t \in Task : trigger(t)
  \/ \E w \in Workers : worker(w)

\* The seed asks for strong fairness of scheduler and workers and for weak fairness of triggers. All
\* that the properties need is this:
Spec ==
  /\ Init /\ [][Next]_vars
  /\ WF_vars(start_sched)
  /\ \A w \in Workers : WF_vars(worker(w))

(* ------------------------------- properties ------------------------------ *)

TypeOK ==
  /\ wait_set \subseteq Task /\ running \subseteq Task /\ waiting \subseteq Task
  /\ Queued \subseteq Task
  /\ \A w \in Workers : at[w] \in {"start_worker", "finish_task"}

\* A task is in exactly one place, once.
OneState ==
  /\ waiting \cup Queued \cup running = Task
  /\ waiting \cap Queued = {} /\ waiting \cap running = {} /\ Queued \cap running = {}
  /\ Cardinality(Queued) = Len(run_queue)

\* What runs is what the workers hold.
RunningIsHeld == running = {task[w] : w \in {v \in Workers : at[v] = "finish_task"}}

\* As written an event stays for ever, so whoever runs is in the wait set.
RunningWasTriggered == Consumes \/ (running \cup Queued) \subseteq wait_set

TriggerKept == due \subseteq wait_set
NothingGroundless == groundless = {}

PassedInQueue == Watched = -1 \/ queue_passed <= QueueBound
PassedSinceTrigger == Watched = -1 \/ passed <= TriggerBound
NextStepMovesIt == ~left_behind

starvation_free == \A e \in Task : (e \in wait_set) ~> (e \in running)

RunsOnceMore == \A e \in Task : (UsedUp /\ e \in due) ~> (e \notin due)
EventConsumed == \A e \in Task : (UsedUp /\ e \in wait_set) ~> (e \notin wait_set)
=============================================================================
