-------------------------------- MODULE inbox --------------------------------
(* Jobs from other threads: many put, anyone takes all.                      *)
(*                                                                           *)
(* The box is a stack: `newest` is its top, and each job is linked to the    *)
(* one put before it. Who puts reads `newest`, links its job to it and swaps *)
(* by compare-exchange, again and again until nobody came in between. Who    *)
(* takes exchanges `newest` for None and has the whole stack, which it turns *)
(* around on its own. Nobody takes a single job, so nobody can be deceived   *)
(* by one that left and came back.                                           *)
EXTENDS Integers, Sequences

CONSTANTS
  Putters,  \* how many threads put jobs
  Jobs,     \* how many jobs each of them puts
  Takers,   \* the threads that take
  Mutant    \* "none", or the mistake that is made, see README.md

VARIABLES
  newest,  \* the job on top, or None
  link,    \* of each job in the box: the one put before it, or None
  putter,  \* where each putter is
  left,    \* jobs that each putter has yet to put
  first,   \* each putter's local: newest, as it saw it
  below,   \* what each putter's job is linked to
  taker,   \* where each taker is
  held,    \* newest, as a taker of a mutant has loaded it
  order,   \* all jobs that were put, in that order
  got      \* all jobs that were taken, in that order

vars == <<newest, link, putter, left, first, below, taker, held, order, got>>

None == 0
All == 1..(Putters * Jobs)
Threads == 1..Putters
JobOf(p) == (p - 1) * Jobs + Jobs - left[p] + 1

TypeOK ==
  /\ newest \in All \cup {None}
  /\ \A p \in Threads : left[p] \in 0..Jobs /\ putter[p] \in {"idle", "swap"}
  /\ \A t \in Takers : taker[t] \in {"idle", "take", "clear"}

Init ==
  /\ newest = None
  /\ link = [j \in All |-> None]
  /\ putter = [p \in Threads |-> "idle"]
  /\ left = [p \in Threads |-> Jobs]
  /\ first = [p \in Threads |-> None]
  /\ below = [p \in Threads |-> None]
  /\ taker = [t \in Takers |-> "idle"]
  /\ held = [t \in Takers |-> None]
  /\ order = <<>>
  /\ got = <<>>

(* -------------------------------- putters -------------------------------- *)

\* put(): the load before the loop.
Load(p) ==
  /\ putter[p] = "idle"
  /\ left[p] > 0
  /\ first' = [first EXCEPT ![p] = newest]
  /\ below' = [below EXCEPT ![p] = newest]
  /\ putter' = [putter EXCEPT ![p] = "swap"]
  /\ UNCHANGED <<newest, link, left, taker, held, order, got>>

\* One round of the loop: the compare-exchange and, if it fails, the new link.
Swap(p) ==
  /\ putter[p] = "swap"
  /\ IF newest = first[p] \/ Mutant = "swap_by_store"
       THEN /\ link' = [link EXCEPT ![JobOf(p)] = below[p]]
            /\ newest' = JobOf(p)
            /\ order' = Append(order, JobOf(p))
            /\ left' = [left EXCEPT ![p] = @ - 1]
            /\ first' = [first EXCEPT ![p] = None]
            /\ below' = [below EXCEPT ![p] = None]
            /\ putter' = [putter EXCEPT ![p] = "idle"]
       ELSE /\ first' = [first EXCEPT ![p] = newest]
            /\ below' = [below EXCEPT ![p] = IF Mutant = "stale_link" THEN @ ELSE newest]
            /\ UNCHANGED <<newest, link, order, left, putter>>
  /\ UNCHANGED <<taker, held, got>>

(* --------------------------------- takers -------------------------------- *)

\* What hangs from a job, one link after the other. Links lead to jobs put earlier, so after as many
\* as there are jobs nothing is left.
Step(q) == IF q = <<>> \/ link[q[1]] = None THEN q ELSE <<link[q[1]]>> \o q
Twice(q) == Step(Step(q))
OldestFirst(j) == IF j = None THEN <<>> ELSE Twice(Twice(Twice(Twice(<<j>>))))
Reversed(q) == [i \in 1..Len(q) |-> q[Len(q) + 1 - i]]
Range(q) == {q[i] : i \in 1..Len(q)}

Take(j) ==
  LET jobs == OldestFirst(j)
  IN /\ got' = got \o (IF Mutant = "newest_first" THEN Reversed(jobs) ELSE jobs)
     /\ link' = [k \in All |-> IF k \in Range(jobs) THEN None ELSE link[k]]
     /\ newest' = None

\* take_all(): not if it looks empty ...
Look(t) ==
  /\ taker[t] = "idle"
  /\ newest # None
  /\ taker' = [taker EXCEPT ![t] = "take"]
  /\ UNCHANGED <<newest, link, putter, left, first, below, held, order, got>>

\* ... and then everything, which by now may be nothing.
TakeAll(t) ==
  /\ taker[t] = "take"
  /\ IF Mutant = "take_by_load"
       THEN /\ held' = [held EXCEPT ![t] = newest]
            /\ taker' = [taker EXCEPT ![t] = "clear"]
            /\ UNCHANGED <<newest, link, got>>
       ELSE /\ Take(newest)
            /\ taker' = [taker EXCEPT ![t] = "idle"]
            /\ UNCHANGED held
  /\ UNCHANGED <<putter, left, first, below, order>>

\* Only in the mutant that loads and stores instead of exchanging.
Clear(t) ==
  /\ taker[t] = "clear"
  /\ Take(held[t])
  /\ held' = [held EXCEPT ![t] = None]
  /\ taker' = [taker EXCEPT ![t] = "idle"]
  /\ UNCHANGED <<putter, left, first, below, order>>

(* ---------------------------------- spec --------------------------------- *)

Putter(p) == Load(p) \/ Swap(p)
Taker(t) == Look(t) \/ TakeAll(t) \/ Clear(t)

\* All jobs were put and taken.
Finished ==
  /\ newest = None
  /\ \A p \in Threads : left[p] = 0
  /\ \A t \in Takers : taker[t] = "idle"

Next ==
  \/ \E p \in Threads : Putter(p)
  \/ \E t \in Takers : Taker(t)
  \/ (Finished /\ UNCHANGED vars)

Spec ==
  /\ Init /\ [][Next]_vars
  /\ \A p \in Threads : WF_vars(Putter(p))
  /\ \A t \in Takers : WF_vars(Taker(t))

(* ------------------------------- properties ------------------------------ *)

TakenAndHeld == got \o OldestFirst(newest)

\* What was put is in the box or was taken, and once.
EachOnce ==
  /\ Len(TakenAndHeld) = Len(order)
  /\ Range(TakenAndHeld) = Range(order)

\* Jobs leave in the order in which they were put.
InOrder == TakenAndHeld = order

AllTaken == <>Finished
=============================================================================
