--------------------------- MODULE event_notifier ---------------------------
(* One consumer sleeps until a producer has something for it.                *)
(*                                                                           *)
(* The whole protocol is one word:                                           *)
(*                                                                           *)
(*   running --TakeTicket--> prepared --Park--> parked                       *)
(*      ^                        |                 |                         *)
(*      +-------Cancel------- notified <---Wake----+                         *)
(*                                                                           *)
(* A producer publishes a message, then reads the word, and does more only   *)
(* if the consumer is about to sleep. The consumer takes its ticket, fences, *)
(* looks for messages once more and parks.                                   *)
(*                                                                           *)
(* Every thread has a store buffer: what it stores is seen by the others     *)
(* when the buffer drains, which may happen at any time. Read-modify-writes  *)
(* wait until the buffer of their thread is empty. The light fence does not  *)
(* drain anything: it only keeps the compiler from exchanging the producer's *)
(* two steps. The heavy fence drains the buffers of all threads, one thread  *)
(* after the other, while they go on.                                        *)
(*                                                                           *)
(* The futex puts the consumer to sleep only while the word is parked, may   *)
(* wake it for no reason, and forgets a wake when nobody sleeps.             *)
EXTENDS Integers

CONSTANTS
  Producers,  \* the threads that notify
  Messages,   \* how many messages each of them publishes
  Timeouts,   \* whether a park may end at a deadline
  Mutant      \* "none", or the mistake that is made, see README.md

VARIABLES
  word,       \* running, prepared, parked, notified: what is in memory
  ticket,     \* TRUE while the store of `prepared` is in the consumer's buffer
  buffered,   \* messages in each producer's store buffer
  inbox,      \* messages of each producer that are in memory and not read
  left,       \* messages that each producer has yet to publish
  at,         \* where each producer is
  seen,       \* what each producer last read from the word
  me,         \* where the consumer is
  unfenced    \* producers that the heavy fence under way has yet to reach

vars == <<word, ticket, buffered, inbox, left, at, seen, me, unfenced>>

Words == {"running", "prepared", "parked", "notified"}
ProducerPlaces == {"idle", "published", "read", "wake", "futex"}
ConsumerPlaces == {"awake", "dry", "ticketed", "fencing", "look", "park", "load",
                   "wait", "asleep", "returned", "cancel"}

TypeOK ==
  /\ word \in Words
  /\ ticket \in BOOLEAN
  /\ \A p \in Producers :
       /\ buffered[p] \in 0..Messages
       /\ inbox[p] \in 0..Messages
       /\ left[p] \in 0..Messages
       /\ at[p] \in ProducerPlaces
       /\ seen[p] \in Words
  /\ me \in ConsumerPlaces
  /\ unfenced \subseteq Producers

Init ==
  /\ word = "running"
  /\ ticket = FALSE
  /\ buffered = [p \in Producers |-> 0]
  /\ inbox = [p \in Producers |-> 0]
  /\ left = [p \in Producers |-> Messages]
  /\ at = [p \in Producers |-> "idle"]
  /\ seen = [p \in Producers |-> "running"]
  /\ me = "awake"
  /\ unfenced = {}

AboutToSleep == {"prepared", "parked"}

(* ------------------------------ store buffers ---------------------------- *)

Drain(p) ==
  /\ buffered[p] > 0
  /\ buffered' = [buffered EXCEPT ![p] = @ - 1]
  /\ inbox' = [inbox EXCEPT ![p] = @ + 1]
  /\ UNCHANGED <<word, ticket, left, at, seen, me, unfenced>>

DrainTicket ==
  /\ ticket
  /\ ticket' = FALSE
  /\ word' = "prepared"
  /\ UNCHANGED <<buffered, inbox, left, at, seen, me, unfenced>>

(* -------------------------------- producers ------------------------------ *)

\* A producer's round begins with the publication; two mutants begin otherwise.
Publish(p) ==
  /\ left[p] > 0
  /\ \/ /\ at[p] = "idle"
        /\ Mutant \notin {"no_light_fence", "notify_before_publish"}
        /\ at' = [at EXCEPT ![p] = "published"]
     \/ /\ at[p] = "read"
        /\ Mutant = "no_light_fence"
        /\ at' = [at EXCEPT ![p] = IF seen[p] \in AboutToSleep THEN "wake" ELSE "idle"]
     \/ /\ at[p] = "read"
        /\ Mutant = "notify_before_publish"
        /\ at' = [at EXCEPT ![p] = "idle"]
  /\ buffered' = [buffered EXCEPT ![p] = @ + 1]
  /\ left' = [left EXCEPT ![p] = @ - 1]
  /\ UNCHANGED <<word, ticket, inbox, seen, me, unfenced>>

\* The load in notify(). It may overtake the publication in the store buffer.
ReadWord(p) ==
  /\ \/ /\ at[p] = "published"
        /\ at' = [at EXCEPT ![p] = IF word \in AboutToSleep THEN "wake" ELSE "idle"]
     \/ /\ at[p] = "idle" /\ left[p] > 0
        /\ Mutant = "no_light_fence"
        /\ at' = [at EXCEPT ![p] = "read"]
     \/ /\ at[p] = "idle" /\ left[p] > 0
        /\ Mutant = "notify_before_publish"
        /\ at' = [at EXCEPT ![p] = IF word \in AboutToSleep THEN "wake" ELSE "read"]
  /\ seen' = [seen EXCEPT ![p] = word]
  /\ UNCHANGED <<word, ticket, buffered, inbox, left, me, unfenced>>

\* Where a producer goes when it has nothing more to wake.
AfterWake == IF Mutant = "notify_before_publish" THEN "read" ELSE "idle"

\* One round of the compare-exchange loop in wake().
Wake(p) ==
  /\ at[p] = "wake"
  /\ buffered[p] = 0
  /\ IF word = seen[p]
       THEN /\ word' = "notified"
            /\ at' = [at EXCEPT ![p] =
                 IF seen[p] = "parked" /\ Mutant # "drop_all_wakes" THEN "futex" ELSE AfterWake]
            /\ UNCHANGED seen
       ELSE /\ seen' = [seen EXCEPT ![p] = word]
            /\ at' = [at EXCEPT ![p] = IF word \in AboutToSleep THEN "wake" ELSE AfterWake]
            /\ UNCHANGED word
  /\ UNCHANGED <<ticket, buffered, inbox, left, me, unfenced>>

FutexWake(p) ==
  /\ at[p] = "futex"
  /\ at' = [at EXCEPT ![p] = AfterWake]
  /\ me' = IF me = "asleep" THEN "returned" ELSE me
  /\ UNCHANGED <<word, ticket, buffered, inbox, left, seen, unfenced>>

(* -------------------------------- consumer ------------------------------- *)

\* Reads everything that is in memory. With "look_before_ticket" this is also its last look.
Read ==
  /\ me = "awake"
  /\ inbox' = [p \in Producers |-> 0]
  /\ me' = "dry"
  /\ UNCHANGED <<word, ticket, buffered, left, at, seen, unfenced>>

TakeTicket ==
  /\ me = "dry"
  /\ ticket' = TRUE
  /\ me' = "ticketed"
  /\ UNCHANGED <<word, buffered, inbox, left, at, seen, unfenced>>

AfterFence == IF Mutant = "look_before_ticket" THEN "park" ELSE "look"

HeavyFence ==
  /\ me = "ticketed"
  /\ IF Mutant = "no_heavy_fence"
       THEN /\ me' = AfterFence
            /\ UNCHANGED unfenced
       ELSE /\ ~ticket
            /\ unfenced' = Producers
            /\ me' = "fencing"
  /\ UNCHANGED <<word, ticket, buffered, inbox, left, at, seen>>

\* The fence reaches one more thread and drains its buffer.
FenceReaches(p) ==
  /\ me = "fencing"
  /\ p \in unfenced
  /\ unfenced' = unfenced \ {p}
  /\ inbox' = [inbox EXCEPT ![p] = @ + buffered[p]]
  /\ buffered' = [buffered EXCEPT ![p] = 0]
  /\ me' = IF unfenced = {p} THEN AfterFence ELSE "fencing"
  /\ UNCHANGED <<word, ticket, left, at, seen>>

Look ==
  /\ me = "look"
  /\ me' = IF \E p \in Producers : inbox[p] > 0 THEN "cancel" ELSE "park"
  /\ UNCHANGED <<word, ticket, buffered, inbox, left, at, seen, unfenced>>

\* The compare-exchange from prepared to parked.
Park ==
  /\ me = "park"
  /\ ~ticket
  /\ IF word = "prepared" \/ Mutant = "park_by_store"
       THEN /\ word' = "parked"
            /\ me' = "load"
       ELSE /\ me' = "cancel"
            /\ UNCHANGED word
  /\ UNCHANGED <<ticket, buffered, inbox, left, at, seen, unfenced>>

\* The condition of the loop around the futex.
LoadWord ==
  /\ me = "load"
  /\ me' = IF word = "parked" THEN "wait" ELSE "cancel"
  /\ UNCHANGED <<word, ticket, buffered, inbox, left, at, seen, unfenced>>

\* The kernel compares and falls asleep in one step.
FutexWait ==
  /\ me = "wait"
  /\ me' = IF word = "parked" \/ Mutant = "sleep_without_compare" THEN "asleep" ELSE "returned"
  /\ UNCHANGED <<word, ticket, buffered, inbox, left, at, seen, unfenced>>

AfterWait ==
  /\ me = "returned"
  /\ me' = "load"
  /\ UNCHANGED <<word, ticket, buffered, inbox, left, at, seen, unfenced>>

\* The exchange to running: a park that ended, or a consumer that found something.
Cancel ==
  /\ me = "cancel"
  /\ ~ticket
  /\ word' = "running"
  /\ me' = "awake"
  /\ UNCHANGED <<ticket, buffered, inbox, left, at, seen, unfenced>>

\* Neither of these two is ever relied upon.
WakeForNoReason ==
  /\ me = "asleep"
  /\ me' = "returned"
  /\ UNCHANGED <<word, ticket, buffered, inbox, left, at, seen, unfenced>>

Deadline ==
  /\ Timeouts
  /\ me = "returned"
  /\ me' = "cancel"
  /\ UNCHANGED <<word, ticket, buffered, inbox, left, at, seen, unfenced>>

(* ---------------------------------- spec --------------------------------- *)

Producer(p) == Publish(p) \/ ReadWord(p) \/ Wake(p) \/ FutexWake(p)

Consumer ==
  \/ Read \/ TakeTicket \/ HeavyFence \/ Look \/ Park \/ LoadWord
  \/ FutexWait \/ AfterWait \/ Cancel
  \/ \E p \in Producers : FenceReaches(p)

Next ==
  \/ Consumer
  \/ WakeForNoReason
  \/ Deadline
  \/ DrainTicket
  \/ \E p \in Producers : Producer(p) \/ Drain(p)

Spec ==
  /\ Init /\ [][Next]_vars
  /\ WF_vars(Consumer)
  /\ WF_vars(DrainTicket)
  /\ \A p \in Producers : WF_vars(Producer(p))
  /\ \A p \in Producers : WF_vars(Drain(p))

(* ------------------------------- properties ------------------------------ *)

Unread(p) == buffered[p] + inbox[p]

\* Posted and notified: the producer's call of notify() has returned.
Notified(p) == at[p] = "idle" /\ Unread(p) > 0

\* Nobody who has notified is slept on.
NoLostWakeup ==
  (me = "asleep" /\ word = "parked") => \A p \in Producers : ~Notified(p)

\* A consumer that sleeps although the word moved on has a waker under way.
WakerUnderWay ==
  (me = "asleep" /\ word # "parked") => \E p \in Producers : at[p] = "futex"

\* The consumer takes a ticket only while running, as take_ticket() asserts.
TicketWhileRunning == (me = "dry" \/ ticket) => word = "running"

\* Posted and notified leads to read.
Delivered == \A p \in Producers : Notified(p) ~> (Unread(p) = 0)
=============================================================================
