----------------------------- MODULE fork_deque ------------------------------
(* Continuations of forking tasks. The owner pushes and pops at the young    *)
(* end, `bottom`; thieves take from the old end, `top`, one at a time under  *)
(* a lock. The owner takes the lock only when it and a thief want the same   *)
(* element: each first moves its own end and then looks at the other's, so   *)
(* at least one of them notices.                                             *)
(*                                                                           *)
(* The ring's slots are used again: by the owner after it popped, and all    *)
(* around once thieves have moved on. `old_top` is the owner's view of top;  *)
(* only if by that view the ring is full does it look, under the lock, and   *)
(* perhaps takes a larger ring.                                              *)
(*                                                                           *)
(* Elements are numbered in the order of their pushes. Steps interleave,     *)
(* which is what the sequentially consistent accesses of the code provide;   *)
(* the two mutants *_reads_first stand for weaker ones.                      *)
EXTENDS Integers

CONSTANTS
  Elements,  \* how many elements the owner pushes: 1 .. Elements
  Thieves,   \* the threads that steal
  Capacity,  \* of the first ring
  Mutant     \* "none", or the mistake that is made, see README.md

VARIABLES
  ring,          \* slot -> element, or None
  size,          \* slots in the ring
  top, bottom,   \* the oldest element, one beyond the youngest
  old_top,       \* the owner's view of top
  lock,          \* who holds the thieves' lock, or None
  pushed,        \* how many elements were pushed
  owner,         \* where the owner is
  b, x, saw,     \* the owner's locals: the place and element it wants, top as it saw it
  thief,         \* where each thief is
  t, limit,      \* each thief's locals: the place it wants, bottom as it saw it
  takes          \* how often each element was taken

vars == <<ring, size, top, bottom, old_top, lock, pushed, owner, b, x, saw, thief, t, limit, takes>>

None == 0
Owner == 100
All == 1..Elements

SlotOf(i) == i % size
Taken(y) == [e \in All |-> IF e = y THEN takes[e] + 1 ELSE takes[e]]

TypeOK ==
  /\ \A i \in 0..(size - 1) : ring[i] \in All \cup {None}
  /\ top \in 0..(Elements + 1)  \* one more while a thief finds out that it is too late
  /\ bottom \in -1..Elements
  /\ old_top \in 0..Elements
  /\ lock \in Thieves \cup {None, Owner}
  /\ owner \in {"idle", "room", "slot", "publish", "retreat", "compare", "settle", "judge"}
  /\ \A h \in Thieves : thief[h] \in {"idle", "look", "lock", "claim", "compare",
                                      "back", "unlock"}

Init ==
  /\ ring = [i \in 0..(Capacity - 1) |-> None]
  /\ size = Capacity
  /\ top = 0 /\ bottom = 0 /\ old_top = 0
  /\ lock = None
  /\ pushed = 0
  /\ owner = "idle"
  /\ b = 0 /\ x = None /\ saw = 0
  /\ thief = [h \in Thieves |-> "idle"]
  /\ t = [h \in Thieves |-> 0]
  /\ limit = [h \in Thieves |-> 0]
  /\ takes = [e \in All |-> 0]

(* --------------------------------- owner --------------------------------- *)

Push ==
  /\ owner = "idle"
  /\ pushed < Elements
  /\ owner' = IF bottom - old_top >= size THEN "room" ELSE "slot"
  /\ UNCHANGED <<ring, size, top, bottom, old_top, lock, pushed, b, x, saw, thief, t, limit, takes>>

\* make_room() as one step: under the lock no thief is at work.
FindRoom ==
  /\ owner = "room"
  /\ lock = None \/ Mutant = "room_without_lock"
  /\ bottom - top < size
  /\ old_top' = top
  /\ owner' = "slot"
  /\ UNCHANGED <<ring, size, top, bottom, lock, pushed, b, x, saw, thief, t, limit, takes>>

\* The element that belongs into slot i of a ring of n slots, if any.
ElementIn(i, n) ==
  LET fit == {k \in top..(bottom - 1) : k % n = i}
  IN IF fit = {} THEN None ELSE ring[SlotOf(CHOOSE k \in fit : TRUE)]

Grow ==
  /\ owner = "room"
  /\ lock = None \/ Mutant = "room_without_lock"
  /\ bottom - top >= size
  /\ old_top' = top
  /\ size' = 2 * size
  /\ ring' = [i \in 0..(2 * size - 1) |-> ElementIn(i, 2 * size)]
  /\ owner' = "slot"
  /\ UNCHANGED <<top, bottom, lock, pushed, b, x, saw, thief, t, limit, takes>>

StoreSlot ==
  /\ owner = "slot"
  /\ ring' = [ring EXCEPT ![SlotOf(bottom)] = pushed + 1]
  /\ pushed' = pushed + 1
  /\ owner' = "publish"
  /\ UNCHANGED <<size, top, bottom, old_top, lock, b, x, saw, thief, t, limit, takes>>

StoreBottom ==
  /\ owner = "publish"
  /\ bottom' = bottom + 1
  /\ owner' = "idle"
  /\ UNCHANGED <<ring, size, top, old_top, lock, pushed, b, x, saw, thief, t, limit, takes>>

\* pop_any() reads the youngest element; it may be one that a thief took long ago.
Pop ==
  /\ owner = "idle"
  /\ bottom > 0
  /\ b' = bottom - 1
  /\ x' = ring[SlotOf(bottom - 1)]
  /\ saw' = top
  /\ owner' = "retreat"
  /\ UNCHANGED <<ring, size, top, bottom, old_top, lock, pushed, thief, t, limit, takes>>

\* take(): the exchange of bottom ...
Retreat ==
  /\ owner = "retreat"
  /\ bottom' = b
  /\ owner' = "compare"
  /\ UNCHANGED <<ring, size, top, old_top, lock, pushed, b, x, saw, thief, t, limit, takes>>

TopSeen == IF Mutant = "owner_reads_first" THEN saw ELSE top

\* ... and the look at top.
OwnerTakes ==
  /\ owner = "compare"
  /\ TopSeen <= b \/ Mutant = "ignore_conflict"
  /\ takes' = Taken(x)
  /\ owner' = "idle"
  /\ x' = None /\ b' = 0 /\ saw' = 0
  /\ UNCHANGED <<ring, size, top, bottom, old_top, lock, pushed, thief, t, limit>>

Conflict ==
  /\ owner = "compare"
  /\ TopSeen > b
  /\ Mutant # "ignore_conflict"
  /\ owner' = "settle"
  /\ UNCHANGED <<ring, size, top, bottom, old_top, lock, pushed, b, x, saw, thief, t, limit, takes>>

\* settle(): behind the lock the thief has finished or stepped back.
LockToSettle ==
  /\ owner = "settle"
  /\ IF Mutant = "settle_without_lock"
       THEN UNCHANGED lock
       ELSE lock = None /\ lock' = Owner
  /\ owner' = "judge"
  /\ UNCHANGED <<ring, size, top, bottom, old_top, pushed, b, x, saw, thief, t, limit, takes>>

Release == IF lock = Owner THEN None ELSE lock

SettledOurs ==
  /\ owner = "judge"
  /\ top <= b
  /\ takes' = Taken(x)
  /\ lock' = Release
  /\ owner' = "idle"
  /\ x' = None /\ b' = 0 /\ saw' = 0
  /\ UNCHANGED <<ring, size, top, bottom, old_top, pushed, thief, t, limit>>

SettledTheirs ==
  /\ owner = "judge"
  /\ top > b
  /\ bottom' = IF Mutant = "bottom_not_restored" THEN bottom ELSE top
  /\ lock' = Release
  /\ owner' = "idle"
  /\ x' = None /\ b' = 0 /\ saw' = 0
  /\ UNCHANGED <<ring, size, top, old_top, pushed, thief, t, limit, takes>>

(* --------------------------------- thieves ------------------------------- *)

\* steal(): not if it looks empty. Two loads, so what they say may never have been true at once ...
LookBottom(h) ==
  /\ thief[h] = "idle"
  /\ limit' = [limit EXCEPT ![h] = bottom]
  /\ thief' = [thief EXCEPT ![h] = "look"]
  /\ UNCHANGED <<ring, size, top, bottom, old_top, lock, pushed, owner, b, x, saw, t, takes>>

LookTop(h) ==
  /\ thief[h] = "look"
  /\ limit' = [limit EXCEPT ![h] = 0]
  /\ thief' = [thief EXCEPT ![h] = IF limit[h] <= top THEN "idle" ELSE "lock"]
  /\ UNCHANGED <<ring, size, top, bottom, old_top, lock, pushed, owner, b, x, saw, t, takes>>

\* ... and not if another thief is at work. By now the deque may be empty.
TryLock(h) ==
  /\ thief[h] = "lock"
  /\ lock = None
  /\ lock' = h
  /\ t' = [t EXCEPT ![h] = top]
  /\ limit' = [limit EXCEPT ![h] = bottom]
  /\ thief' = [thief EXCEPT ![h] = "claim"]
  /\ UNCHANGED <<ring, size, top, bottom, old_top, pushed, owner, b, x, saw, takes>>

\* Whoever has the lock may be somebody for whom that is part of a step here.
GiveUp(h) ==
  /\ thief[h] = "lock"
  /\ thief' = [thief EXCEPT ![h] = "idle"]
  /\ UNCHANGED <<ring, size, top, bottom, old_top, lock, pushed, owner, b, x, saw, t, limit, takes>>

Advance(h) ==
  /\ thief[h] = "claim"
  /\ top' = t[h] + 1
  /\ thief' = [thief EXCEPT ![h] = "compare"]
  /\ UNCHANGED <<ring, size, bottom, old_top, lock, pushed, owner, b, x, saw, t, limit, takes>>

BottomSeen(h) == IF Mutant = "thief_reads_first" THEN limit[h] ELSE bottom

\* The look at bottom; the slot is read later, still under the lock.
ThiefMayTake(h) ==
  /\ thief[h] = "compare"
  /\ t[h] < BottomSeen(h)
  /\ thief' = [thief EXCEPT ![h] = "unlock"]
  /\ UNCHANGED <<ring, size, top, bottom, old_top, lock, pushed, owner, b, x, saw, t, limit, takes>>

ThiefTakes(h) ==
  /\ thief[h] = "unlock"
  /\ takes' = Taken(ring[SlotOf(t[h])])
  /\ lock' = None
  /\ thief' = [thief EXCEPT ![h] = "idle"]
  /\ t' = [t EXCEPT ![h] = 0]
  /\ limit' = [limit EXCEPT ![h] = 0]
  /\ UNCHANGED <<ring, size, top, bottom, old_top, pushed, owner, b, x, saw>>

\* Nothing there: the thief steps back, and meanwhile the owner may push.
ThiefTooLate(h) ==
  /\ thief[h] = "compare"
  /\ t[h] >= BottomSeen(h)
  /\ thief' = [thief EXCEPT ![h] = "back"]
  /\ UNCHANGED <<ring, size, top, bottom, old_top, lock, pushed, owner, b, x, saw, t, limit, takes>>

StepBack(h) ==
  /\ thief[h] = "back"
  /\ top' = IF Mutant = "no_step_back" THEN top ELSE t[h]
  /\ lock' = None
  /\ thief' = [thief EXCEPT ![h] = "idle"]
  /\ t' = [t EXCEPT ![h] = 0]
  /\ limit' = [limit EXCEPT ![h] = 0]
  /\ UNCHANGED <<ring, size, bottom, old_top, pushed, owner, b, x, saw, takes>>

(* ---------------------------------- spec --------------------------------- *)

OwnerStep ==
  \/ Push \/ FindRoom \/ Grow \/ StoreSlot \/ StoreBottom
  \/ Pop \/ Retreat \/ OwnerTakes \/ Conflict \/ LockToSettle \/ SettledOurs \/ SettledTheirs

ThiefStep(h) ==
  \/ LookBottom(h) \/ LookTop(h) \/ TryLock(h) \/ GiveUp(h) \/ Advance(h)
  \/ ThiefMayTake(h) \/ ThiefTakes(h) \/ ThiefTooLate(h) \/ StepBack(h)

Resting == owner = "idle" /\ \A h \in Thieves : thief[h] = "idle"

Next ==
  \/ OwnerStep
  \/ \E h \in Thieves : ThiefStep(h)
  \/ (Resting /\ pushed = Elements /\ top = bottom /\ UNCHANGED vars)

Spec ==
  /\ Init /\ [][Next]_vars
  /\ WF_vars(OwnerStep)
  /\ \A h \in Thieves : WF_vars(ThiefStep(h))

(* ------------------------------- properties ------------------------------ *)

Queued == {ring[SlotOf(i)] : i \in top..(bottom - 1)}

AtMostOnce == \A e \in All : takes[e] <= 1

\* At rest an element that was pushed was taken once or is queued, not both.
ExactlyOnce ==
  Resting => \A e \in 1..pushed : takes[e] + (IF e \in Queued THEN 1 ELSE 0) = 1

\* A pop that fails leaves the truth behind it: its element was taken, or is being taken.
RefusedMeansTaken ==
  (owner = "judge" /\ top > b /\ x # None) =>
    \/ takes[x] = 1
    \/ \E h \in Thieves : thief[h] = "unlock" /\ ring[SlotOf(t[h])] = x

\* A thief that may take reads the element that it claimed: the slot is not written meanwhile.
SlotIntact ==
  \A h \in Thieves : thief[h] = "unlock" =>
    /\ ring[SlotOf(t[h])] # None
    /\ takes[ring[SlotOf(t[h])]] = 0

EndsMeet == Resting => top <= bottom

\* The owner does not wait for a lock for ever.
Settles == (owner = "settle") ~> (owner = "idle")
=============================================================================
