-------------------------------- MODULE batch ---------------------------------
(* Behaviours over several cowns, alone or in batches: who waits for whom.   *)
(*                                                                           *)
(* Cowns are numbered. A behaviour enters the queues of its cowns in         *)
(* ascending order, the next one when it has the one before, and keeps what  *)
(* it has until it ends. So there is no circle of waiting.                   *)
(*                                                                           *)
(* A batch is several behaviours that were requested as one. It first        *)
(* acquires all cowns that its members need like a single behaviour. Then it *)
(* hands over one cown after the other: in the queue of the cown its members *)
(* take its place, in their order, ahead of all that wait behind it. From    *)
(* then on members wait only for earlier members of their own batch.         *)
(*                                                                           *)
(* How one cown goes from one to the next, and how readers share it, is      *)
(* specs/access. Here it is a sequence whose head has the cown, and a reader *)
(* has it if all in front of it read.                                        *)
EXTENDS Integers, Sequences

CONSTANTS
  Cowns,    \* how many cowns there are
  Pairs,    \* how many batches of two
  Singles,  \* how many behaviours on their own
  Open,     \* when a reader lets in the readers behind it, see README.md
  Ask,      \* "all", or a property that is known to fail
  Mutant    \* "none", or the mistake that is made, see README.md

VARIABLES
  needs,    \* of each behaviour: what it needs of each cown, None, Read or Write
  entered,  \* of each batch: the last cown whose queue it entered
  handed,   \* of each batch of two: the last cown that it handed to its members
  queue,    \* of each cown: who has it or waits for it, behaviours, or -b for batch b
  at,       \* where each behaviour is
  came,     \* of each cown: all batches that entered its queue, in that order
  ran       \* all behaviours that began to run, in that order

vars == <<needs, entered, handed, queue, at, came, ran>>

None == 0
Read == 1
Write == 2
C == 1..Cowns
B == 1..(Pairs + Singles)
M == 1..(2 * Pairs + Singles)
ASSUME Open \in {"at_once", "after_next"}

(* A behaviour on its own is a batch of one. *)
BatchOf(m) == IF m <= 2 * Pairs THEN (m + 1) \div 2 ELSE m - Pairs
MembersOf(b) == IF b <= Pairs THEN <<2 * b - 1, 2 * b>> ELSE <<Pairs + b>>
SlotOf(b) == IF b <= Pairs THEN -b ELSE Pairs + b
OwnerOf(x) == IF x < 0 THEN -x ELSE BatchOf(x)

Max(x, y) == IF x > y THEN x ELSE y
Min(s) == CHOOSE x \in s : \A y \in s : x <= y
Range(q) == {q[i] : i \in 1..Len(q)}
Without(q, x) == SelectSeq(q, LAMBDA y : y # x)

\* What a batch needs of a cown: to read it only if no member writes it.
Need(b, c) ==
  LET ms == MembersOf(b)
      x == needs[ms[1]][c]
      y == needs[ms[Len(ms)]][c]
  IN IF Mutant = "read_if_any_reads" /\ Read \in {x, y} THEN Read ELSE Max(x, y)
NeedOf(x, c) == IF x < 0 THEN Need(-x, c) ELSE needs[x][c]

\* The order in which a batch acquires: its r-th cown, and the other way round.
Ranked(b, r) == IF Mutant = "descending" /\ b = Pairs + Singles THEN Cowns + 1 - r ELSE r
\* Cowns that it has yet to enter, and to hand over, by rank.
Ahead(b, from) == {r \in C : r > from /\ Need(b, Ranked(b, r)) # None}

\* Does x, which reads c, let in the readers behind it?
LetsIn(x, c) ==
  LET b == OwnerOf(x)
  IN \/ Open = "at_once"
     \/ Ahead(b, Ranked(b, c)) = {}
     \/ entered[b] > Ranked(b, c)

Has(x, c) ==
  \E i \in 1..Len(queue[c]) :
    /\ queue[c][i] = x
    /\ \/ i = 1
       \/ /\ NeedOf(x, c) = Read
          /\ \A j \in 1..(i - 1) : NeedOf(queue[c][j], c) = Read /\ LetsIn(queue[c][j], c)

\* It has what it has entered; it keeps the earlier ones, so the last one tells.
HasEntered(b) == entered[b] = 0 \/ Has(SlotOf(b), Ranked(b, entered[b]))

TypeOK ==
  /\ \A b \in B : entered[b] \in 0..Cowns /\ handed[b] \in 0..Cowns
  /\ \A c \in C : Range(queue[c]) \subseteq M \cup {-b : b \in 1..Pairs}
  /\ \A m \in M : at[m] \in {"waits", "runs", "done"}

Init ==
  /\ needs \in [M -> {f \in [C -> {None, Read, Write}] : \E c \in C : f[c] # None}]
  /\ entered = [b \in B |-> 0]
  /\ handed = [b \in B |-> 0]
  /\ queue = [c \in C |-> <<>>]
  /\ at = [m \in M |-> "waits"]
  /\ came = [c \in C |-> <<>>]
  /\ ran = <<>>

(* ---------------------------------- steps -------------------------------- *)

\* Those of a batch that need c, in its order.
Those(b, c) == SelectSeq(MembersOf(b), LAMBDA m : needs[m][c] # None)

Enter(b) ==
  LET alone == Mutant = "one_at_a_time" /\ b <= Pairs
  IN /\ Ahead(b, entered[b]) # {}
     /\ HasEntered(b) \/ alone
     /\ LET r == Min(Ahead(b, entered[b]))
            c == Ranked(b, r)
        IN /\ queue' = [queue EXCEPT ![c] = @ \o (IF alone THEN Those(b, c) ELSE <<SlotOf(b)>>)]
           /\ came' = [came EXCEPT ![c] = Append(@, b)]
           /\ entered' = [entered EXCEPT ![b] = r]
     /\ UNCHANGED <<needs, handed, at, ran>>

\* The queue of c with the members of b in its place.
InPlace(b, c) ==
  LET q == queue[c]
      i == CHOOSE j \in 1..Len(q) : q[j] = -b
      front == SubSeq(q, 1, i - 1)
      rest == SubSeq(q, i + 1, Len(q))
      ms == Those(b, c)
  IN IF Mutant = "members_at_tail" THEN front \o rest \o ms
     ELSE IF Mutant = "members_apart" THEN front \o <<ms[1]>> \o rest \o SubSeq(ms, 2, Len(ms))
     ELSE front \o ms \o rest

\* A batch that has all its cowns hands over the next one.
Hand(b) ==
  /\ b <= Pairs /\ Mutant # "one_at_a_time"
  /\ Ahead(b, entered[b]) = {} /\ Ahead(b, handed[b]) # {}
  /\ HasEntered(b)
  /\ LET r == Min(Ahead(b, handed[b]))
         c == Ranked(b, r)
     IN /\ queue' = [queue EXCEPT ![c] = InPlace(b, c)]
        /\ handed' = [handed EXCEPT ![b] = r]
  /\ UNCHANGED <<needs, entered, at, came, ran>>

Start(m) ==
  /\ at[m] = "waits"
  /\ \A c \in C : needs[m][c] # None => Has(m, c)
  /\ at' = [at EXCEPT ![m] = "runs"]
  /\ ran' = Append(ran, m)
  /\ UNCHANGED <<needs, entered, handed, queue, came>>

\* Gives all its cowns back. One step, since giving back sooner never makes anybody wait longer.
End(m) ==
  /\ at[m] = "runs"
  /\ at' = [at EXCEPT ![m] = "done"]
  /\ queue' = [c \in C |-> Without(queue[c], m)]
  /\ UNCHANGED <<needs, entered, handed, came, ran>>

(* ---------------------------------- spec --------------------------------- *)

Acquire(b) == Enter(b) \/ Hand(b)
Run(m) == Start(m) \/ End(m)

Finished == \A m \in M : at[m] = "done"

Next ==
  \/ \E b \in B : Acquire(b)
  \/ \E m \in M : Run(m)
  \/ (Finished /\ UNCHANGED vars)

Spec ==
  /\ Init /\ [][Next]_vars
  /\ \A b \in B : WF_vars(Acquire(b))
  /\ \A m \in M : WF_vars(Run(m))

(* ------------------------------- properties ------------------------------ *)

Clash(one, other) == one # None /\ other # None /\ Write \in {one, other}
ClashOn(m, n, c) == Clash(needs[m][c], needs[n][c])
ClashAnywhere(m, n) == \E c \in C : ClashOn(m, n, c)

At(q, x) == CHOOSE i \in 1..Len(q) : q[i] = x
\* x is in q, and y is behind it or not in q yet.
Before(q, x, y) == x \in Range(q) /\ (y \notin Range(q) \/ At(q, x) < At(q, y))

\* A writer is alone.
Alone == \A m, n \in M : m # n /\ at[m] = "runs" /\ at[n] = "runs" => ~ClashAnywhere(m, n)

\* Who came to a cown first has it first, and members of a batch in their order.
FirstCome ==
  \A c \in C : \A m, n \in M :
    (/\ m # n /\ ClashOn(m, n, c) /\ n \in Range(ran)
     /\ IF BatchOf(m) = BatchOf(n) THEN m < n ELSE Before(came[c], BatchOf(m), BatchOf(n)))
       => Before(ran, m, n)

\* Nothing runs between two members of a batch that clashes with both, on a cown of all three ...
NothingBetween ==
  \A c \in C : \A m, n \in M : \A o \in M :
    BatchOf(m) = BatchOf(n) /\ BatchOf(o) # BatchOf(m) /\ ClashOn(m, o, c) /\ ClashOn(o, n, c)
      => ~(o \in Range(ran) /\ Before(ran, m, o) /\ Before(ran, o, n))

\* ... and two batches are in the same order wherever their members clash.
OneOrder ==
  \A m, n \in M : BatchOf(m) # BatchOf(n) /\ ClashAnywhere(m, n) /\ Before(ran, m, n) =>
    \A o, p \in M :
      BatchOf(o) = BatchOf(m) /\ BatchOf(p) = BatchOf(n) /\ ClashAnywhere(o, p) => ~Before(ran, p, o)

\* What a member of a batch waits for is a member of its batch.
OwnBatchOnly ==
  \A c \in C : \A j \in 1..Len(queue[c]) : \A i \in 1..(j - 1) :
    LET m == queue[c][j]
        x == queue[c][i]
    IN (m \in 1..(2 * Pairs) /\ Clash(NeedOf(x, c), NeedOf(m, c)))
         => (x > 0 /\ BatchOf(x) = BatchOf(m))

\* Where they clash, members of a and b run in the order in which a and b came to cown c.
KeepOrder(a, b, c) ==
  Before(came[c], a, b) =>
    \A m, n \in M : BatchOf(m) = a /\ BatchOf(n) = b /\ ClashAnywhere(m, n) => ~Before(ran, n, m)
CownsOf(b) == {c \in C : Need(b, c) # None}
Least(b) == Min(CownsOf(b))

\* Those with the same least cown keep their order, if one of them writes it ...
LeastOrders ==
  \A a, b \in B : a # b /\ Least(a) = Least(b) /\ Clash(Need(a, Least(a)), Need(b, Least(a)))
    => KeepOrder(a, b, Least(a))
\* ... or, with Open = "after_next", if they need the same cowns.
SameCowns == \A a, b \in B : a # b /\ CownsOf(a) = CownsOf(b) => KeepOrder(a, b, Least(a))
SameCownsOrder == Open = "after_next" \/ Ask = "SameCownsOrder" => SameCowns
\* Known to fail: they need not, if both only read it.
SameLeastOrder == Ask = "SameLeastOrder" =>
  \A a, b \in B : a # b /\ Least(a) = Least(b) => KeepOrder(a, b, Least(a))

\* Nobody is lost.
AllRun == <>Finished
=============================================================================
