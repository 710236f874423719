----------------------------- MODULE coop_bypass -----------------------------
(* How a worker of the pool chooses what to run next: what our task layer    *)
(* does instead of the plain queue of specs/coop.                            *)
(*                                                                           *)
(* A task that the running one made ready waits in the next slot and may run *)
(* ahead of the ring, Bypass times per credit. The credit is renewed when    *)
(* the ring has moved past everything that was queued at the last renewal.   *)
(* What threads outside post waits in the injector, which is looked at every *)
(* LookEvery points and when there is nothing else. The rest is first in,    *)
(* first out.                                                                *)
(*                                                                           *)
(* A scheduling point is one Pick. Between two of them the running task may  *)
(* make others ready and spawn; then it gives way, or waits (or ends).       *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Tasks,      \* the most live tasks
  Bypass,     \* runs ahead of the ring per credit
  LookEvery,  \* points between two looks at the injector
  Watched,    \* the task whose wait is measured
  Less,       \* 0, or 1 to ask for less than the bound
  Mutant      \* "none", or the mistake that is made, see README.md

VARIABLES
  waiting,     \* tasks that wait for something, or do not exist
  running,     \* the running task, or Nobody: the worker chooses, or sleeps
  next,        \* the next slot: a task or Nobody
  ring,        \* the run queue
  injector,    \* what was posted from outside
  credit,      \* runs ahead of the ring that are left
  to_mark,     \* pops of the ring until the credit may be renewed
  since_look,  \* points since the last look at the injector
  delay        \* ghost: points since the watched task is ready

vars == <<waiting, running, next, ring, injector, credit, to_mark, since_look, delay>>

Nobody == -1
Task == 0..(Tasks - 1)
Range(q) == {q[i] : i \in 1..Len(q)}
One(b) == IF b THEN 1 ELSE 0
Min(a, b) == IF a < b THEN a ELSE b

Ready(f) == f = next \/ f \in Range(ring) \/ f \in Range(injector)

\* Points from "ready" to "runs", the last one included: waiting for the look, the other tasks once
\* each, two credits of which the older one was begun, and its own point.
Bound ==
  (LookEvery - 1) + (Tasks - 1) + (IF Bypass > 0 THEN 2 * Bypass - 1 ELSE 0) + 1

Init ==
  /\ waiting = Task /\ running = Nobody /\ next = Nobody
  /\ ring = <<>> /\ injector = <<>>
  /\ credit = 0 /\ to_mark = 0 /\ since_look = 0 /\ delay = 0

(* ------------------------------- the worker ------------------------------ *)

\* The ring with what was posted.
WithMail(q) ==
  CASE Mutant = "mail_in_front" -> injector \o q
    [] Mutant = "drop_mail" -> IF injector = <<>> THEN q ELSE Append(q, injector[1])
    [] OTHER -> q \o injector

\* One scheduling point. First the look if it is due; then the next slot; then the ring; and when
\* there is nothing else, a look. The worker sleeps if that finds nothing: no step.
Pick ==
  LET due == since_look + 1 >= LookEvery /\ Mutant # "never_look"
      seen == IF due THEN WithMail(ring) ELSE ring
      slot == next # Nobody
      alone == seen = <<>>
      renewed == slot /\ ~alone /\ to_mark = 0
      mark == IF ~renewed THEN to_mark
              ELSE IF Mutant = "renew_at_each_pop" THEN 1 ELSE Len(seen)
      left == IF renewed THEN Bypass ELSE credit
      ahead == slot /\ (alone \/ left > 0)
      lined == IF ~slot \/ ahead THEN seen
               ELSE IF Mutant = "spent_in_front" THEN <<next>> \o seen ELSE Append(seen, next)
      dry == ~ahead /\ lined = <<>> /\ Mutant # "no_look_when_dry"
      full == IF dry /\ ~due THEN WithMail(lined) ELSE lined
      last == Mutant = "lifo"
  IN /\ running = Nobody
     /\ ahead \/ full # <<>>
     /\ running' = IF ahead THEN next ELSE IF last THEN full[Len(full)] ELSE full[1]
     /\ next' = Nobody
     /\ ring' = IF ahead THEN full ELSE IF last THEN SubSeq(full, 1, Len(full) - 1) ELSE Tail(full)
     /\ injector' = IF due \/ dry THEN <<>> ELSE injector
     /\ credit' = IF ahead /\ ~alone /\ Mutant # "bypass_without_limit" THEN left - 1 ELSE left
     /\ to_mark' = IF ahead \/ mark = 0 THEN mark ELSE mark - 1
     /\ since_look' = IF due \/ dry THEN 0 ELSE Min(since_look + 1, LookEvery)
     /\ delay' = IF Ready(Watched) THEN Min(delay + 1, Bound + 1) ELSE delay
     /\ UNCHANGED waiting

EndStep ==
  /\ running # Nobody
  /\ running' = Nobody
  /\ delay' = IF running = Watched THEN 0 ELSE delay
  /\ UNCHANGED <<next, injector, credit, to_mark, since_look>>

GiveWay == EndStep /\ ring' = Append(ring, running) /\ UNCHANGED waiting
Block == EndStep /\ waiting' = waiting \cup {running} /\ UNCHANGED ring

(* ----------------------- who makes a waiting task ready ------------------- *)

Wake(f) ==
  /\ f \in waiting
  /\ waiting' = waiting \ {f}
  /\ UNCHANGED <<running, credit, to_mark, since_look, delay>>

MakeReady(f) ==
  /\ running # Nobody
  /\ Wake(f)
  /\ IF next = Nobody \/ Mutant = "overwrite_next"
       THEN next' = f /\ UNCHANGED ring
       ELSE /\ ring' = IF Mutant = "ready_in_front" THEN <<f>> \o ring ELSE Append(ring, f)
            /\ UNCHANGED next
  /\ UNCHANGED injector

Spawn(f) ==
  /\ running # Nobody
  /\ Wake(f)
  /\ ring' = Append(ring, f)
  /\ UNCHANGED <<next, injector>>

Post(f) ==
  /\ Wake(f)
  /\ injector' = Append(injector, f)
  /\ UNCHANGED <<next, ring>>

(* ---------------------------------- spec --------------------------------- *)

Worker == Pick \/ GiveWay \/ Block
Next == Worker \/ \E f \in Task : MakeReady(f) \/ Spawn(f) \/ Post(f)

Spec == Init /\ [][Next]_vars /\ WF_vars(Worker)

(* ------------------------------- properties ------------------------------ *)

Times(q, f) == Cardinality({i \in 1..Len(q) : q[i] = f})

\* A task is in exactly one place, once.
EachOnce ==
  \A f \in Task :
    One(f \in waiting) + One(f = running) + One(f = next) + Times(ring, f) + Times(injector, f) = 1

ReadyDelay == delay <= Bound - Less
MailSeen == Watched \in Range(injector) => delay < LookEvery

quiescent_fair == \A f \in Task : Ready(f) ~> (running = f)
=============================================================================
