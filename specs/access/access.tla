-------------------------------- MODULE access --------------------------------
(* A cown that behaviours read or write: a fair queue, readers side by side. *)
(*                                                                           *)
(* The queue is a list of slots, one for each behaviour, with its end in     *)
(* `tail`: who comes swaps itself in and links itself to its predecessor.    *)
(* `word` counts the readers that have the cown, and its lowest bit says     *)
(* that a writer waits for them to go: `next_writer`. Count and bit are one  *)
(* word, so exactly one of those who leave sees that it was the last.        *)
(*                                                                           *)
(* A reader's slot is closed at first (`next` is Closed), and opened when it *)
(* has the cown. Who links itself to a closed reader waits for its opener,   *)
(* who takes it along; who links itself to an open one has the cown at once. *)
(* Link and opening act on the same word, so one of them comes first.        *)
(*                                                                           *)
(* A batch of two behaviours has a slot of its own until it has the cown.    *)
(* Then its members take the place of this slot: the first has the cown, and *)
(* the second gets whoever linked itself to the batch.                       *)
(*                                                                           *)
(* R1: a reader is counted before its slot is opened. Whoever it lets in may *)
(*     have come and gone, and must not leave a count of zero.               *)
(* R2: `next_writer` is set before the bit: the last reader takes both.      *)
EXTENDS Integers, Sequences

CONSTANTS
  Readers,  \* how many behaviours read the cown: 1 .. Readers
  Writers,  \* how many write it: the numbers after these
  Batch,    \* what a batch of two does, "rr", "rw", "wr" or "ww"; or "none"
  Mutant    \* "none", or the mistake that is made, see README.md

VARIABLES
  tail,         \* the last slot of the queue, or None
  next,         \* of each slot: its successor, None or, for a reader, Closed
  word,         \* twice the number of readers, plus 1 if a writer waits for them
  next_writer,  \* who that is
  at,           \* where each behaviour is
  slot,         \* each one's local: the slot that it is about to touch
  order         \* all that came, in that order

vars == <<tail, next, word, next_writer, at, slot, order>>

None == 0
Closed == -1
Group == Readers + Writers + 1  \* the batch, and its members
First == Group + 1
Second == Group + 2
Members == IF Batch = "none" THEN {} ELSE {First, Second}
All == 1..(IF Batch = "none" THEN Readers + Writers ELSE Second)
Reads(b) ==
  \/ b <= Readers
  \/ b = Group /\ Batch = "rr"
  \/ b = First /\ Batch \in {"rr", "rw"}
  \/ b = Second /\ Batch \in {"rr", "wr"}

TypeOK ==
  /\ tail \in All \cup {None}
  /\ \A b \in All : next[b] \in All \cup {None, Closed}
  /\ word \in 0..(2 * (Readers + 2) + 1)
  /\ next_writer \in All \cup {None}
  /\ \A b \in All : slot[b] \in All \cup {None}

Init ==
  /\ tail = None
  /\ next = [b \in All |-> IF Reads(b) THEN Closed ELSE None]
  /\ word = 0
  /\ next_writer = None
  /\ at = [b \in All |-> IF b \in Members THEN "apart" ELSE "new"]
  /\ slot = [b \in All |-> None]
  /\ order = <<>>

\* Where letting in a reader begins (R1).
LetIn == IF Mutant = "count_late" THEN "open" ELSE "count"

(* --------------------------------- coming -------------------------------- *)

Enter(b) ==
  /\ at[b] = "new"
  /\ tail' = b
  /\ order' = Append(order, b)
  /\ IF tail # None
       THEN /\ slot' = [slot EXCEPT ![b] = tail]
            /\ at' = [at EXCEPT ![b] = "link"]
       ELSE IF Reads(b)
       THEN /\ slot' = [slot EXCEPT ![b] = b]
            /\ at' = [at EXCEPT ![b] = LetIn]
       ELSE /\ at' = [at EXCEPT ![b] = IF Mutant = "no_look" THEN "run" ELSE "look"]
            /\ UNCHANGED slot
  /\ UNCHANGED <<next, word, next_writer>>

\* One access: a store, and between readers an exchange.
Link(b) ==
  /\ at[b] = "link"
  /\ next' = [next EXCEPT ![slot[b]] = b]
  /\ IF Reads(b) /\ Reads(slot[b]) /\ (next[slot[b]] = None \/ Mutant = "ignore_closed")
       THEN /\ slot' = [slot EXCEPT ![b] = b]
            /\ at' = [at EXCEPT ![b] = LetIn]
       ELSE /\ slot' = [slot EXCEPT ![b] = None]
            /\ at' = [at EXCEPT ![b] = "wait"]
  /\ UNCHANGED <<tail, word, next_writer, order>>

\* A writer without predecessor: are there readers yet?
Look(b) ==
  /\ at[b] = "look"
  /\ at' = [at EXCEPT ![b] = IF word = 0 THEN "run" ELSE "announce"]
  /\ UNCHANGED <<tail, next, word, next_writer, slot, order>>

Announce(b) ==
  /\ at[b] = "announce"
  /\ next_writer' = b
  /\ at' = [at EXCEPT ![b] = "claim"]
  /\ UNCHANGED <<tail, next, word, slot, order>>

\* Sets the bit. If the readers have gone meanwhile, nobody else will look at it.
Claim(b) ==
  /\ at[b] = "claim"
  /\ IF Mutant = "two_words"
       THEN /\ at' = [at EXCEPT ![b] = IF word = 0 THEN "run" ELSE "wait"]
            /\ next_writer' = IF word = 0 THEN None ELSE next_writer
            /\ UNCHANGED word
       ELSE /\ word' = word + 1
            /\ at' = [at EXCEPT ![b] = IF word = 0 THEN "unclaim" ELSE "wait"]
            /\ UNCHANGED next_writer
  /\ UNCHANGED <<tail, next, slot, order>>

Unclaim(b) ==
  /\ at[b] = "unclaim"
  /\ word' = 0
  /\ at' = [at EXCEPT ![b] = "run"]
  /\ UNCHANGED <<tail, next, next_writer, slot, order>>

(* --------------------------- letting readers in -------------------------- *)

\* By the reader itself when it comes, or by the writer that had the cown before.
Count(b) ==
  /\ at[b] = "count"
  /\ word' = word + 2
  /\ at' = [at EXCEPT ![b] = "open"]
  /\ UNCHANGED <<tail, next, next_writer, slot, order>>

\* What becomes of who lets in: a reader that came runs, a writer that ended is done.
After(b) == IF Reads(b) THEN "run" ELSE "done"
\* Who is let in runs.
Runs(x, b, place) == [at EXCEPT ![x] = "run", ![b] = place]

\* The compare-exchange from Closed to None. If it fails there is a successor: the next to be let in
\* if it is a reader. Whether it is one is known before the reader that we let in is free to end.
Open(b) ==
  /\ at[b] = "open"
  /\ LET x == slot[b]
         s == next[x]
         later == Mutant = "count_late" /\ x = b /\ s = Closed
     IN /\ next' = IF s = Closed \/ Mutant = "open_by_store" THEN [next EXCEPT ![x] = None] ELSE next
        /\ word' = IF Mutant = "count_late" /\ ~later THEN word + 2 ELSE word
        /\ IF s # Closed /\ s # None /\ Reads(s) /\ Mutant \notin {"forget_chain", "open_by_store"}
             THEN /\ slot' = [slot EXCEPT ![b] = s]
                  /\ at' = Runs(x, b, LetIn)
             ELSE /\ slot' = [slot EXCEPT ![b] = None]
                  /\ at' = Runs(x, b, IF later THEN "late" ELSE After(b))
  /\ UNCHANGED <<tail, next_writer, order>>

\* Only in the mutant that opens before it counts.
CountLate(b) ==
  /\ at[b] = "late"
  /\ word' = word + 2
  /\ at' = [at EXCEPT ![b] = "run"]
  /\ UNCHANGED <<tail, next, next_writer, slot, order>>

(* --------------------------------- leaving ------------------------------- *)

\* To whom the cown goes, or who has to know of the writer that comes next.
Leave(b, s) ==
  IF Reads(b)
    THEN /\ slot' = [slot EXCEPT ![b] = IF Reads(s) THEN None ELSE s]
         /\ at' = [at EXCEPT ![b] = IF Reads(s) THEN "drop"
                                    ELSE IF Mutant = "bit_first" THEN "mark" ELSE "pass"]
    ELSE IF Reads(s)
    THEN /\ slot' = [slot EXCEPT ![b] = s]
         /\ at' = [at EXCEPT ![b] = LetIn]
    ELSE /\ at' = Runs(s, b, "done")
         /\ UNCHANGED slot

\* It has run. The load of `next`.
Finish(b) ==
  /\ at[b] = "run" /\ b # Group
  /\ IF next[b] = None
       THEN /\ at' = [at EXCEPT ![b] = "untail"]
            /\ UNCHANGED slot
       ELSE Leave(b, next[b])
  /\ UNCHANGED <<tail, next, word, next_writer, order>>

\* The compare-exchange of the tail: either we were the last, or a successor is about to link itself.
Untail(b) ==
  /\ at[b] = "untail"
  /\ tail' = IF tail = b THEN None ELSE tail
  /\ at' = [at EXCEPT ![b] = IF tail # b THEN "await" ELSE IF Reads(b) THEN "drop" ELSE "done"]
  /\ UNCHANGED <<next, word, next_writer, slot, order>>

Await(b) ==
  /\ at[b] = "await"
  /\ next[b] # None
  /\ Leave(b, next[b])
  /\ UNCHANGED <<tail, next, word, next_writer, order>>

\* A reader whose successor writes tells the last reader of it (R2) ...
Pass(b) ==
  /\ at[b] \in {"pass", "late_pass", "last_pass"}
  /\ next_writer' = slot[b]
  /\ slot' = [slot EXCEPT ![b] = None]
  /\ at' = [at EXCEPT ![b] = IF at[b] = "late_pass" THEN "done"
                             ELSE IF at[b] = "last_pass" THEN "clear"
                             ELSE IF Mutant = "two_words" THEN "drop" ELSE "mark"]
  /\ UNCHANGED <<tail, next, word, order>>

\* ... and leaves, in the same access that sets the bit.
Mark(b) ==
  /\ at[b] = "mark"
  /\ word' = word - 1
  /\ at' = [at EXCEPT ![b] =
       IF Mutant = "bit_first" THEN IF word = 2 THEN "last_pass" ELSE "late_pass"
       ELSE IF word = 2 THEN "clear" ELSE "done"]
  /\ UNCHANGED <<tail, next, next_writer, slot, order>>

\* Any other reader just leaves.
Drop(b) ==
  /\ at[b] = "drop"
  /\ word' = word - 2
  /\ at' = [at EXCEPT ![b] = IF Mutant = "two_words" THEN IF word = 2 THEN "give" ELSE "done"
                             ELSE IF word = 3 THEN "clear" ELSE "done"]
  /\ UNCHANGED <<tail, next, next_writer, slot, order>>

\* The last reader, and a writer waits.
Clear(b) ==
  /\ at[b] = "clear"
  /\ word' = 0
  /\ at' = [at EXCEPT ![b] = "give"]
  /\ UNCHANGED <<tail, next, next_writer, slot, order>>

Give(b) ==
  /\ at[b] = "give"
  /\ at' = IF next_writer = None THEN [at EXCEPT ![b] = "done"] ELSE Runs(next_writer, b, "done")
  /\ next_writer' = IF Mutant = "two_words" THEN None ELSE next_writer
  /\ UNCHANGED <<tail, next, word, slot, order>>

(* -------------------------- members of the batch ------------------------- *)

Replaced(q) ==
  LET i == CHOOSE j \in 1..Len(q) : q[j] = Group
  IN SubSeq(q, 1, i - 1) \o <<First, Second>> \o SubSeq(q, i + 1, Len(q))

\* The batch has the cown. The slots of its members are its own until they are in the queue, so they
\* are linked in the step that loads its own `next`. If all read, they have the cown with it.
Spread(b) ==
  /\ at[b] = "run" /\ b = Group
  /\ next' = [next EXCEPT ![First] = Second,
                          ![Second] = IF Reads(Second) /\ ~Reads(b) THEN Closed ELSE None]
  /\ at' = [at EXCEPT ![First] = "wait", ![Second] = "wait",
                      ![b] = IF next[b] = None THEN "splice" ELSE "append"]
  /\ order' = Replaced(order)
  /\ UNCHANGED <<tail, word, next_writer, slot>>

\* The compare-exchange of the tail: either the second member is the last now, or a successor is
\* about to link itself ...
Splice(b) ==
  /\ at[b] = "splice"
  /\ tail' = IF tail = b THEN Second ELSE tail
  /\ at' = [at EXCEPT ![b] = IF tail = b \/ Mutant = "forget_successor" THEN "spread" ELSE "append"]
  /\ UNCHANGED <<next, word, next_writer, slot, order>>

\* ... and is taken over. Nobody else knows the second member yet.
TakeOver(b) ==
  /\ at[b] = "append"
  /\ next[b] # None
  /\ next' = [next EXCEPT ![Second] = next[b]]
  /\ at' = [at EXCEPT ![b] = "spread"]
  /\ UNCHANGED <<tail, word, next_writer, slot, order>>

\* Members that read are counted both, once more than the batch was, before either can end.
GiveMembers(b) ==
  /\ at[b] = "spread"
  /\ word' = IF Reads(b) /\ Mutant # "members_uncounted" THEN word + 2 ELSE word
  /\ IF Reads(b)
       THEN /\ at' = [at EXCEPT ![First] = "run", ![Second] = "run", ![b] = "done"]
            /\ UNCHANGED slot
       ELSE IF Reads(First)
       THEN /\ slot' = [slot EXCEPT ![b] = First]
            /\ at' = [at EXCEPT ![b] = LetIn]
       ELSE /\ at' = Runs(First, b, "done")
            /\ UNCHANGED slot
  /\ UNCHANGED <<tail, next, next_writer, order>>

(* ---------------------------------- spec --------------------------------- *)

Step(b) ==
  \/ Enter(b) \/ Link(b) \/ Look(b) \/ Announce(b) \/ Claim(b) \/ Unclaim(b)
  \/ Count(b) \/ Open(b) \/ CountLate(b)
  \/ Finish(b) \/ Untail(b) \/ Await(b) \/ Pass(b) \/ Mark(b) \/ Drop(b) \/ Clear(b) \/ Give(b)
  \/ Spread(b) \/ Splice(b) \/ TakeOver(b) \/ GiveMembers(b)

\* All have run, and the cown is as it was.
Finished ==
  /\ \A b \in All : at[b] = "done"
  /\ tail = None /\ word = 0

Next ==
  \/ \E b \in All : Step(b)
  \/ (Finished /\ UNCHANGED vars)

Spec == Init /\ [][Next]_vars /\ \A b \in All : WF_vars(Step(b))

(* ------------------------------- properties ------------------------------ *)

Ended(b) ==
  \/ at[b] \in {"untail", "await", "pass", "late_pass", "last_pass", "mark", "drop", "clear",
                "give", "done"}
  \/ ~Reads(b) /\ at[b] \in {"count", "open"}

\* A writer is alone. So is a batch with a writer, until its members are in the queue.
Alone ==
  \A a, b \in All : a # b /\ at[a] = "run" /\ at[b] = "run" => Reads(a) /\ Reads(b)

\* First come, first served: who runs has seen all before it end, but that readers go together.
InOrder ==
  \A i, j \in 1..Len(order) :
    i < j /\ ~(Reads(order[i]) /\ Reads(order[j])) /\ (at[order[j]] = "run" \/ Ended(order[j]))
      => Ended(order[i])

\* A reader waits only for a writer in front of it, or for a reader that is just coming in and takes
\* it along, or, as a member, for its batch.
ReadersShare ==
  \A j \in 1..Len(order) : Reads(order[j]) /\ at[order[j]] = "wait" =>
    \/ order[j] \in Members /\ at[Group] # "done"
    \/ \E i \in 1..(j - 1) :
         LET b == order[i]
         IN IF Reads(b) THEN at[b] \in {"link", "count", "open"} ELSE at[b] # "done"

\* A slot is touched only while its behaviour is there: until it is done it may be linked to, and who
\* is let in or given the cown waits for that.
SlotsAlive ==
  \A b \in All :
    /\ at[b] = "link" => at[slot[b]] # "done"
    /\ at[b] \in {"count", "open"} => slot[b] = b \/ at[slot[b]] = "wait"
    /\ at[b] = "pass" => at[slot[b]] = "wait"
    /\ at[b] = "give" /\ next_writer # None => at[next_writer] = "wait"

\* Nobody is lost.
AllRun == <>Finished
=============================================================================
