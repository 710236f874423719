------------------------------ MODULE run_queue ------------------------------
(* A worker's run queue: first in, first out, in a ring whose slots are used *)
(* again. The owner pushes and pops; one thief at a time takes the older     *)
(* half.                                                                     *)
(*                                                                           *)
(* The thief claims before it reads: it moves `head` on by compare-exchange  *)
(* and copies the slots afterwards. What keeps the owner from writing into a *)
(* slot that is still being copied is the pin: `reading_from` is set before  *)
(* the claim, and the owner, who wants to use slots again, reads `head`      *)
(* first and `reading_from` second (R1). A full ring is replaced by a larger *)
(* one under the thieves' lock (R2).                                         *)
(*                                                                           *)
(* Jobs are numbered as they come, so job n belongs into slot n mod capacity *)
(* and everything that can go wrong shows as a wrong number.                 *)
EXTENDS Integers, Sequences

CONSTANTS
  Jobs,       \* how many jobs the owner pushes: 0 .. Jobs - 1
  Thieves,    \* the threads that steal
  Capacity,   \* of the first ring
  Loot,       \* the most that a thief takes at once
  Mutant      \* "none", or the mistake that is made, see README.md

VARIABLES
  ring,          \* slot -> the number of the job in it, or Empty
  head, tail,    \* the oldest job, the next to come
  reading_from,  \* where the thief at work began to read, or Nobody
  lock,          \* who holds the thieves' lock, or Nobody
  free_from,     \* the owner's view: slots below this may be written
  owner,         \* where the owner is
  o,             \* the owner's locals: head as it read it, reading_from likewise
  thief,         \* where each thief is
  s,             \* each thief's locals: h and n of its claim, how many are copied
  got            \* what each taker took, in its order

vars == <<ring, head, tail, reading_from, lock, free_from, owner, o, thief, s, got>>

Empty == -1
Nobody == -1
Owner == 0
Takers == Thieves \cup {Owner}
ASSUME Owner \notin Thieves

Size == Len(ring)
Slot(n) == ring[(n % Size) + 1]
Min(a, b) == IF a < b THEN a ELSE b
\* The smaller of two numbers of which the second may be Nobody, the largest of all in the code.
MinPin(a, pin) == IF pin = Nobody THEN a ELSE Min(a, pin)

TypeOK ==
  /\ \A i \in 1..Size : ring[i] \in -1..(Jobs - 1)
  /\ head \in 0..Jobs /\ tail \in 0..Jobs /\ head <= tail
  /\ reading_from \in -1..Jobs
  /\ lock \in Takers \cup {Nobody}
  /\ free_from \in 0..Jobs
  /\ owner \in {"idle", "head", "reading", "resize", "slot", "tail", "pop"}
  /\ \A t \in Thieves : thief[t] \in {"idle", "lock", "head", "tail", "pin", "claim",
                                      "late_pin", "copy", "unpin", "unlock"}

Init ==
  /\ ring = [i \in 1..Capacity |-> Empty]
  /\ head = 0 /\ tail = 0
  /\ reading_from = Nobody
  /\ lock = Nobody
  /\ free_from = 0
  /\ owner = "idle"
  /\ o = [h |-> 0, reading |-> Nobody, job |-> Empty]
  /\ thief = [t \in Thieves |-> "idle"]
  /\ s = [t \in Thieves |-> [h |-> 0, n |-> 0, copied |-> 0]]
  /\ got = [t \in Takers |-> <<>>]

(* --------------------------------- owner --------------------------------- *)

\* push(): is there room, as far as we know?
Push ==
  /\ owner = "idle"
  /\ tail < Jobs
  /\ owner' = IF tail - free_from < Size THEN "slot"
              ELSE IF Mutant = "reading_before_head" THEN "reading" ELSE "head"
  /\ UNCHANGED <<ring, head, tail, reading_from, lock, free_from, o, thief, s, got>>

\* make_room(): two loads whose order matters.
LoadHead ==
  /\ owner = "head"
  /\ o' = [o EXCEPT !.h = head]
  /\ owner' = IF Mutant = "reading_before_head" THEN "resize" ELSE "reading"
  /\ free_from' = IF Mutant = "reading_before_head" THEN MinPin(head, o.reading) ELSE free_from
  /\ UNCHANGED <<ring, head, tail, reading_from, lock, thief, s, got>>

LoadReading ==
  /\ owner = "reading"
  /\ o' = [o EXCEPT !.reading = reading_from]
  /\ owner' = IF Mutant = "reading_before_head" THEN "head" ELSE "resize"
  /\ free_from' = IF Mutant = "reading_before_head" THEN free_from ELSE MinPin(o.h, reading_from)
  /\ UNCHANGED <<ring, head, tail, reading_from, lock, thief, s, got>>

\* There is room after all.
EnoughRoom ==
  /\ owner = "resize"
  /\ tail - free_from < Size
  /\ owner' = "slot"
  /\ UNCHANGED <<ring, head, tail, reading_from, lock, free_from, o, thief, s, got>>

\* The queued job that belongs into slot i of a ring of `size`, if any.
JobIn(i, size) ==
  LET fit == {n \in head..(tail - 1) : n % size = i - 1}
  IN IF fit = {} THEN Empty ELSE Slot(CHOOSE n \in fit : TRUE)

\* Still full: a ring of twice the size, with what is queued. Under the lock nobody else reads the
\* slots, so the copy is one step.
Resize ==
  /\ owner = "resize"
  /\ tail - free_from >= Size
  /\ lock = Nobody \/ Mutant = "resize_without_lock"
  /\ free_from' = head
  /\ ring' = [i \in 1..(2 * Size) |-> JobIn(i, 2 * Size)]
  /\ owner' = "slot"
  /\ UNCHANGED <<head, tail, reading_from, lock, o, thief, s, got>>

StoreSlot ==
  /\ owner = "slot"
  /\ ring' = [ring EXCEPT ![(tail % Size) + 1] = tail]
  /\ owner' = "tail"
  /\ UNCHANGED <<head, tail, reading_from, lock, free_from, o, thief, s, got>>

StoreTail ==
  /\ owner = "tail"
  /\ tail' = tail + 1
  /\ owner' = "idle"
  /\ UNCHANGED <<ring, head, reading_from, lock, free_from, o, thief, s, got>>

\* pop(): reads head and the slot, then claims.
Pop ==
  /\ owner = "idle"
  /\ head < tail
  /\ o' = [o EXCEPT !.h = head, !.job = Slot(head)]
  /\ owner' = "pop"
  /\ UNCHANGED <<ring, head, tail, reading_from, lock, free_from, thief, s, got>>

ClaimOne ==
  /\ owner = "pop"
  /\ IF head = o.h
       THEN /\ head' = o.h + 1
            /\ got' = [got EXCEPT ![Owner] = Append(@, o.job)]
       ELSE UNCHANGED <<head, got>>
  /\ owner' = "idle"
  /\ UNCHANGED <<ring, tail, reading_from, lock, free_from, o, thief, s>>

(* --------------------------------- thieves ------------------------------- *)

\* steal(): not if it looks empty, not if another thief is at work.
TryLock(t) ==
  /\ thief[t] = "idle"
  /\ head < tail
  /\ lock = Nobody
  /\ lock' = t
  /\ thief' = [thief EXCEPT ![t] = "head"]
  /\ UNCHANGED <<ring, head, tail, reading_from, free_from, owner, o, s, got>>

ReadHead(t) ==
  /\ thief[t] = "head"
  /\ s' = [s EXCEPT ![t].h = head]
  /\ thief' = [thief EXCEPT ![t] = "tail"]
  /\ UNCHANGED <<ring, head, tail, reading_from, lock, free_from, owner, o, got>>

ReadTail(t) ==
  /\ thief[t] = "tail"
  /\ IF tail <= s[t].h
       THEN /\ thief' = [thief EXCEPT ![t] = "unpin"]
            /\ UNCHANGED s
       ELSE /\ s' = [s EXCEPT ![t].n = Min((tail - s[t].h + 1) \div 2, Loot)]
            /\ thief' = [thief EXCEPT ![t] =
                 IF Mutant \in {"no_pin", "pin_after_claim"} THEN "claim" ELSE "pin"]
  /\ UNCHANGED <<ring, head, tail, reading_from, lock, free_from, owner, o, got>>

Pin(t) ==
  /\ thief[t] \in {"pin", "late_pin"}
  /\ reading_from' = s[t].h
  /\ thief' = [thief EXCEPT ![t] = IF thief[t] = "pin" THEN "claim" ELSE "copy"]
  /\ UNCHANGED <<ring, head, tail, lock, free_from, owner, o, s, got>>

Claim(t) ==
  /\ thief[t] = "claim"
  /\ IF head = s[t].h \/ Mutant = "claim_by_store"
       THEN /\ head' = s[t].h + s[t].n
            /\ s' = [s EXCEPT ![t].copied = 0]
            /\ thief' = [thief EXCEPT ![t] =
                 IF Mutant = "pin_after_claim" THEN "late_pin" ELSE "copy"]
       ELSE /\ s' = [s EXCEPT ![t].h = head]
            /\ thief' = [thief EXCEPT ![t] = "tail"]
            /\ UNCHANGED head
  /\ UNCHANGED <<ring, tail, reading_from, lock, free_from, owner, o, got>>

Copy(t) ==
  /\ thief[t] = "copy"
  /\ got' = [got EXCEPT ![t] = Append(@, Slot(s[t].h + s[t].copied))]
  /\ s' = [s EXCEPT ![t].copied = @ + 1]
  /\ thief' = [thief EXCEPT ![t] = IF s[t].copied + 1 = s[t].n THEN "unpin" ELSE "copy"]
  /\ UNCHANGED <<ring, head, tail, reading_from, lock, free_from, owner, o>>

Unpin(t) ==
  /\ thief[t] = "unpin"
  /\ reading_from' = Nobody
  /\ thief' = [thief EXCEPT ![t] = "unlock"]
  /\ UNCHANGED <<ring, head, tail, lock, free_from, owner, o, s, got>>

Unlock(t) ==
  /\ thief[t] = "unlock"
  /\ lock' = Nobody
  /\ thief' = [thief EXCEPT ![t] = "idle"]
  /\ s' = [s EXCEPT ![t] = [h |-> 0, n |-> 0, copied |-> 0]]
  /\ UNCHANGED <<ring, head, tail, reading_from, free_from, owner, o, got>>

(* ---------------------------------- spec --------------------------------- *)

OwnerStep ==
  \/ Push \/ LoadHead \/ LoadReading \/ EnoughRoom \/ Resize \/ StoreSlot \/ StoreTail
  \/ Pop \/ ClaimOne

ThiefStep(t) ==
  TryLock(t) \/ ReadHead(t) \/ ReadTail(t) \/ Pin(t) \/ Claim(t) \/ Copy(t) \/ Unpin(t) \/ Unlock(t)

\* All jobs were pushed and taken.
Finished ==
  /\ tail = Jobs /\ head = Jobs /\ owner = "idle"
  /\ \A t \in Thieves : thief[t] = "idle"

Next ==
  \/ OwnerStep
  \/ \E t \in Thieves : ThiefStep(t)
  \/ (Finished /\ UNCHANGED vars)

Spec ==
  /\ Init /\ [][Next]_vars
  /\ WF_vars(OwnerStep)
  /\ \A t \in Thieves : WF_vars(ThiefStep(t))

(* ------------------------------- properties ------------------------------ *)

Range(q) == {q[i] : i \in 1..Len(q)}
Ascending(q) == \A i \in 1..(Len(q) - 1) : q[i] < q[i + 1]

\* What a thief has claimed and not yet copied is still in its slots.
SlotIntact ==
  \A t \in Thieves : thief[t] \in {"late_pin", "copy"} =>
    \A k \in s[t].copied..(s[t].n - 1) : Slot(s[t].h + k) = s[t].h + k

\* What is queued is in its slots.
QueuedIntact == \A n \in head..(tail - 1) : Slot(n) = n

\* Nothing that was never pushed is taken, nothing twice, and each taker gets its jobs in order.
AtMostOnce ==
  /\ \A t \in Takers : Empty \notin Range(got[t]) /\ Ascending(got[t])
  /\ \A t, u \in Takers : t # u => Range(got[t]) \cap Range(got[u]) = {}

\* What left the queue has arrived, apart from what a thief is copying.
Claimed(t) ==
  IF thief[t] \in {"late_pin", "copy"}
    THEN {s[t].h + k : k \in s[t].copied..(s[t].n - 1)} ELSE {}
NoneLost ==
  UNION {Range(got[t]) : t \in Takers} \cup UNION {Claimed(t) : t \in Thieves}
    = 0..(head - 1)

\* Once the queue is empty everybody comes to rest: nobody waits for a lock for ever.
ComesToRest == <>Finished
=============================================================================
