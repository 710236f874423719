-------------------------------- MODULE coop --------------------------------
(* The scheduler of CoopWhile (seed 002: Haehnle and Henrio, "Provably Fair  *)
(* Cooperative Scheduling", rules 18 to 24), for all programs of a certain   *)
(* size at once.                                                             *)
(*                                                                           *)
(* At most one task is active. The others stand in one queue: as markers     *)
(* (called, not started), or suspended at a `suspend`, at an `await` of a    *)
(* task, or at a guard on the one shared variable. A task runs until it      *)
(* gives way, which puts it to the rear. When no task is active the first of *)
(* the queue is looked at: it runs if it can, and otherwise goes to the rear *)
(* as it is. A full turn of the queue without a run is a deadlock, and is    *)
(* reported.                                                                 *)
(*                                                                           *)
(* What a task does next is chosen freely. Only Steps bounds how long it may *)
(* go on before it gives way, since fairness is promised for such programs.  *)
(* A task is a slot, used again once its task has ended and nobody awaits    *)
(* it: tasks come and go for ever.                                           *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Tasks,      \* the most live tasks
  Steps,      \* the most local steps in a row
  Values,     \* of the shared variable: 0 .. Values - 1
  Watched,    \* the task whose overtaking is measured, or -1
  Less,       \* 0, or 1 to ask for less than the bound: it is tight
  Distance,   \* which distance has to fall: "repaired" or "paper"
  Mutant      \* "none", or the mistake that is made, see README.md

VARIABLES
  active,     \* the task that runs, or Nobody
  pending,    \* the task that was called and has no marker yet, or Nobody
  queue,      \* the tasks that wait for their turn
  head,       \* what is left of each task begins with this: <<kind, argument>>
  x,          \* the shared variable
  steps,      \* local steps in a row; the paper's c is -steps
  turned,     \* rotations in a row
  reported,   \* the deadlock was reported
  ghost       \* what the properties need to know of the past:
              \*   wrong     what the steps so far did wrong
              \*   watching  whether the watched task could run at every look since ...
              \*   ahead     ... these were ahead of it; those that have not had their turn
              \*   passed    how many tasks ran since

vars == <<active, pending, queue, head, x, steps, turned, reported, ghost>>

Nobody == -1
Task == 0..(Tasks - 1)
Value == 0..(Values - 1)

Absent == <<"absent", 0>>
Marker == <<"marker", 0>>
Going == <<"going", 0>>      \* a statement that does not give way
Ended == <<"ended", 0>>      \* nothing is left
Suspend == <<"suspend", 0>>
Suspended == {Suspend} \cup {<<"await", f>> : f \in Task} \cup {<<"guard", v>> : v \in Value}

Live(f) == head[f] \notin {Absent, Ended}
Idle == active = Nobody /\ pending = Nobody
Range(q) == {q[i] : i \in 1..Len(q)}

\* Whether a task with this head cannot run: it awaits a live task, or its guard is false.
Blocked(f) ==
  \/ head[f][1] = "await" /\ Live(head[f][2])
  \/ head[f][1] = "guard" /\ head[f][2] # x
AllBlocked == queue # <<>> /\ \A i \in 1..Len(queue) : Blocked(queue[i])

Init ==
  /\ active = 0 /\ pending = Nobody /\ queue = <<>>
  /\ head = [f \in Task |-> IF f = 0 THEN Going ELSE Absent]
  /\ x = 0 /\ steps = 0 /\ turned = 0 /\ reported = FALSE
  /\ ghost = [wrong |-> {}, watching |-> FALSE, ahead |-> {}, passed |-> 0]

(* ------------------------------- the ghosts ------------------------------ *)

Places(q, f) == {i \in 1..Len(q) : q[i] = f}
Place(q, f) == CHOOSE i \in Places(q, f) : \A j \in Places(q, f) : i <= j
One(b) == IF b THEN 1 ELSE 0

\* Definition 16 of the paper: how far a task is from its turn, 0 if it has none. The repaired one
\* counts the marker that a pending call will put before a task that is about to give way.
Position(a, p, q, h, f) ==
  IF a = f
    THEN IF h[f] = Going THEN 1
         ELSE IF h[f] = Ended THEN 0
         ELSE Len(q) + 2 + One(p # Nobody /\ Distance = "repaired")
    ELSE IF Places(q, f) = {} THEN 0 ELSE Place(q, f) + One(a # Nobody)

\* The distance as one number: position, idle, local steps, pending call, in the order of their
\* weight; in the paper the last two are the other way round.
DistanceOf(a, p, q, h, n, f) ==
  LET front == 2 * Position(a, p, q, h, f) + One(a = Nobody)
      unmatched == One(p # Nobody)
      c == Steps - n
  IN IF Distance = "repaired" THEN (front * (Steps + 1) + c) * 2 + unmatched
     ELSE (front * 2 + unmatched) * (Steps + 1) + c

\* The distance of some task does not fall, or f had its turn (t) though it was not the next.
Rises(f, t) ==
  IF t /\ Position(active, pending, queue, head, f) # 1 THEN TRUE
  ELSE \E g \in Task :
         /\ ~(t /\ g = f)
         /\ Position(active, pending, queue, head, g) # 0
         /\ Position(active', pending', queue', head', g) # 0
         /\ DistanceOf(active', pending', queue', head', steps', g)
              >= DistanceOf(active, pending, queue, head, steps, g)

Before(q, f) == {q[i] : i \in 1..(Place(q, f) - 1)}

\* Whether the watched task cannot run in the configuration that this step reaches.
Blocked2(f) ==
  \/ head'[f][1] = "await" /\ head'[head'[f][2]] \notin {Absent, Ended}
  \/ head'[f][1] = "guard" /\ head'[f][2] # x'

\* The watch on one task. It begins at the first idle point at which that task can run, and ends when
\* it runs or cannot run at an idle point.
Watch(f, rule, g) ==
  LET idle2 == active' = Nobody /\ pending' = Nobody
      passes == f # Watched /\ rule = "run"
  IN CASE Watched = -1 -> g
       [] Watched # -1 /\ (Places(queue', Watched) = {} \/ (idle2 /\ Blocked2(Watched))) ->
            [wrong |-> g.wrong, watching |-> FALSE, ahead |-> {}, passed |-> 0]
       [] OTHER ->
            IF g.watching THEN
              [wrong |-> IF passes /\ f \notin g.ahead THEN g.wrong \cup {"overtaken"} ELSE g.wrong,
               watching |-> TRUE,
               ahead |-> IF rule \in {"run", "rotate"} THEN g.ahead \ {f} ELSE g.ahead,
               passed |-> IF passes /\ g.passed < Tasks THEN g.passed + 1 ELSE g.passed]
            ELSE IF idle2 THEN
              [g EXCEPT !.watching = TRUE, !.ahead = Before(queue', Watched)]
            ELSE g

\* A step acts on task f by this rule: "run" is (19) or (20), "rotate" (21), "local" (22).
Rule ==
  IF pending # Nobody THEN "other"
  ELSE IF active = Nobody THEN IF active' = Nobody THEN "rotate" ELSE "run"
  ELSE IF head[active] = Going THEN "local" ELSE "other"

Judge(f) ==
  LET rule == Rule
      errors == (IF Rises(f, rule # "other") THEN {"distance"} ELSE {})
                  \cup (IF rule = "run" /\ Blocked(f) THEN {"blocked"} ELSE {})
  IN ghost' = Watch(f, rule, [ghost EXCEPT !.wrong = @ \cup errors])

(* ------------------------------- the rules ------------------------------- *)

\* The ghosts look at each of them, see run(f) below.

Without(q, i) == SubSeq(q, 1, i - 1) \o SubSeq(q, i + 1, Len(q))

\* (18): a called task gets its place.
call_marker(f) ==
  /\ pending = f
  /\ pending' = Nobody
  /\ CASE Mutant = "child_first" ->
            /\ active' = f
            /\ head' = [head EXCEPT ![f] = Going,
                                    ![active] = IF @ = Going THEN Suspend ELSE @]
            /\ steps' = 0
            /\ queue' = Append(queue, active)
       [] OTHER ->
            /\ queue' = CASE Mutant = "spawn_in_front" -> <<f>> \o queue
                          [] Mutant = "forget_call" -> queue
                          [] OTHER -> Append(queue, f)
            /\ UNCHANGED <<active, head, steps>>
  /\ UNCHANGED <<x, turned, reported>>

Looked == IF Mutant = "lifo" THEN Len(queue) ELSE 1
CanLook == Idle /\ ~reported /\ queue # <<>>
IsBlocked(f) == Blocked(f) /\ Mutant # "run_blocked"

\* Where a task may stand after n local steps in a row.
Stands(n) == Suspended \cup (IF n < Steps \/ Mutant = "endless" THEN {Going} ELSE {})

\* (19), (20): the first of the queue starts, or goes on.
Activate(f) ==
  /\ CanLook
  /\ queue[Looked] = f
  /\ ~IsBlocked(f)
  /\ active' = f
  /\ queue' = Without(queue, Looked)
  /\ steps' = 0
  /\ turned' = IF Mutant = "turns_not_reset" THEN turned ELSE 0
  /\ \E h \in Stands(0) : head' = [head EXCEPT ![f] = h]
  /\ UNCHANGED <<pending, x, reported>>
start(f) == head[f] = Marker /\ Activate(f)
resume(f) == head[f] # Marker /\ Activate(f)

Enough == IF Mutant = "early_report" THEN Len(queue) - 2 ELSE Len(queue)
FullTurn == turned >= Enough /\ Mutant # "no_report"

\* (21): it is blocked and goes to the rear.
rotate(f) ==
  /\ CanLook
  /\ queue[Looked] = f
  /\ IsBlocked(f)
  /\ ~FullTurn
  /\ queue' = LET rest == Without(queue, Looked)
              IN CASE Mutant = "blocked_in_front" -> <<f>> \o rest
                   [] Mutant = "drop_blocked" -> rest
                   [] OTHER -> Append(rest, f)
  /\ turned' = IF turned < Len(queue) THEN turned + 1 ELSE turned
  /\ UNCHANGED <<active, pending, head, x, steps, reported>>

\* All of the queue was found blocked.
report ==
  /\ CanLook
  /\ IsBlocked(queue[Looked])
  /\ FullTurn
  /\ reported' = TRUE
  /\ UNCHANGED <<active, pending, queue, head, x, steps, turned, ghost>>

Runs(f) == active = f /\ pending = Nobody

\* (22): one statement that does not give way: an assignment, a call, or the return.
Free(g) == head[g] = Absent /\ \A f \in Task : head[f] # <<"await", g>>

local_step(f) ==
  /\ Runs(f)
  /\ head[f] = Going
  /\ steps' = IF steps < Steps THEN steps + 1 ELSE steps
  /\ \/ \E v \in Value, h \in Stands(steps') :
          x' = v /\ head' = [head EXCEPT ![f] = h] /\ pending' = Nobody
     \/ \E g \in {k \in Task : Free(k)}, h \in Stands(steps') :
          x' = x /\ head' = [head EXCEPT ![f] = h, ![g] = Marker] /\ pending' = g
     \/ x' = x /\ head' = [head EXCEPT ![f] = Ended] /\ pending' = Nobody
  /\ UNCHANGED <<active, queue, turned, reported>>

\* (23)
end_of_task(f) ==
  /\ Runs(f)
  /\ head[f] = Ended
  /\ active' = Nobody
  /\ head' = [head EXCEPT ![f] = Absent]
  /\ LET waiters == {i \in 1..Len(queue) : head[queue[i]] = <<"await", f>>}
     IN queue' = IF Mutant = "waiter_in_front" /\ waiters # {}
                   THEN LET i == CHOOSE j \in waiters : \A k \in waiters : j <= k
                        IN <<queue[i]>> \o Without(queue, i)
                   ELSE queue
  /\ UNCHANGED <<pending, x, steps, turned, reported>>

\* (24)
give_way(f) ==
  /\ Runs(f)
  /\ head[f] \in Suspended
  /\ IF Mutant = "ready_goes_on" /\ head[f] # Suspend /\ ~Blocked(f)
       THEN /\ head' = [head EXCEPT ![f] = Going]
            /\ steps' = 0
            /\ UNCHANGED <<active, queue>>
       ELSE /\ active' = Nobody
            /\ queue' = Append(queue, f)
            /\ UNCHANGED <<head, steps>>
  /\ UNCHANGED <<pending, x, turned, reported>>

Terminating == (reported \/ (Idle /\ queue = <<>>)) /\ UNCHANGED vars

(* ---------------------------------- spec --------------------------------- *)

run(f) ==
  /\ \/ call_marker(f) \/ start(f) \/ resume(f) \/ rotate(f)
     \/ local_step(f) \/ end_of_task(f) \/ give_way(f)
  /\ Judge(f)

Next == (\E f \in Task : run(f)) \/ report \/ Terminating

Spec ==
  /\ Init /\ [][Next]_vars
  /\ \A f \in Task : WF_vars(run(f))
  /\ WF_vars(report)

(* ------------------------------- properties ------------------------------ *)

\* Each live task is active, or queued, or about to be queued: one of these, once. The queue holds
\* markers and suspended tasks only.
EachOnce ==
  /\ Cardinality(Range(queue)) = Len(queue)
  /\ \A f \in Range(queue) : head[f] \in Suspended \cup {Marker}
  /\ active # Nobody => head[active] \notin {Absent, Marker}
  /\ \A f \in Task :
       LET places == One(f \in Range(queue)) + One(f = pending)
                       + One(f = active /\ head[f] # Ended)
       IN places = One(Live(f))

RunsOnlyEnabled == "blocked" \notin ghost.wrong
DistanceFalls == "distance" \notin ghost.wrong
BoundedOvertaking == "overtaken" \notin ghost.wrong
OvertakingBound == ghost.passed <= Tasks - 1 - Less
NoFalseDeadlock == reported => (Idle /\ AllBlocked)

DeadlockReported == (Idle /\ AllBlocked) ~> reported
GivesWay == []<>(active = Nobody)
quiescent_fair ==
  \A f \in Task : (Live(f) /\ active # f) ~> (active = f \/ (Idle /\ Blocked(f)))
=============================================================================
