---------------------------- MODULE notifier_mpsc ----------------------------
(* Producers put messages into an inbox and notify; one consumer empties the  *)
(* inbox and sleeps.                                                          *)
(*                                                                            *)
(* The notifier is that of worker_tree, with the same labels. What differs is *)
(* around it: there are messages to lose, everybody notifies, and the thing   *)
(* that the consumer sleeps on is a choice.                                   *)
(*                                                                            *)
(*   consumer:  Check          empties the inbox                              *)
(*              TakeTicket     remembers the phase, unless signaled           *)
(*              Wait           sleeps, unless signaled or in another phase    *)
(*              Reset          clears signaled, and back to Check             *)
(*   producer:  Produce        puts a message into the inbox                  *)
(*              DontUndoOther  is done if somebody has signaled               *)
(*              Notify         sets signaled                                  *)
(*              InvalidTicket  begins another phase                           *)
(*              Awaken         ends the sleep                                 *)
(*                                                                            *)
(* Kind, what the consumer sleeps on:                                         *)
(*   "sticky"     a flag that stays set until the sleeper takes it: a binary  *)
(*                semaphore, an eventfd                                       *)
(*   "futex"      such a flag, which the consumer also clears after each park *)
(*   "bare"       a condition variable whose signal finds who is asleep; the  *)
(*                sleeper checks first and falls asleep in a second step      *)
(*   "mutex"      the same, but a mutex makes check and sleep one step, and   *)
(*                new phase and signal as well                                *)
(*   "mutexloop"  the same, and whoever wakes checks again                    *)
(* Order, when the inbox is emptied:                                          *)
(*   "after"      Reset                                                       *)
(*   "before"     Reset is seen by the others: what a store buffer makes of   *)
(*                orders weaker than seq_cst                                  *)
EXTENDS Integers

CONSTANTS
  Producers,  \* the threads that notify
  Msgs,       \* how many messages each of them has
  Kind,       \* see above
  Order,      \* see above
  PhaseMod,   \* how many phases there are; 2: a bit
  TicketUse,  \* "checked", or "ignored" by the consumer
  Spurious,   \* whether a sleep may end for no reason
  Mutant      \* "none", or the mistake that is made, see README.md

VARIABLES
  at,         \* where each producer is
  left,       \* messages that each of them has yet to send
  me,         \* where the consumer is
  phase,      \* counts notifications
  ticket,     \* the phase in which the consumer may sleep
  signaled,   \* somebody has notified, and no Reset came since
  condVar,    \* a wake-up that nobody has taken
  blocked,    \* the consumer is on the condition variable's list
  inbox       \* messages that are not read

vars == <<at, left, me, phase, ticket, signaled, condVar, blocked, inbox>>

\* The two kinds whose wake-ups stay, and the two in which a mutex joins steps.
KeepsFlag == Kind \in {"sticky", "futex"}
HasMutex == Kind \in {"mutex", "mutexloop"}

NotifiesFirst == Mutant = "notify_before_publish"

Init ==
  /\ at = [p \in Producers |-> IF NotifiesFirst /\ Msgs > 0 THEN "DontUndoOther" ELSE "Produce"]
  /\ left = [p \in Producers |-> Msgs]
  /\ me = "Check"
  /\ phase = 0
  /\ ticket = 0
  /\ signaled = FALSE
  /\ condVar = FALSE
  /\ blocked = FALSE
  /\ inbox = 0

(* --------------------------------- producers ------------------------------ *)

Produce(p) ==
  /\ at[p] = "Produce"
  /\ IF left[p] = 0
       THEN /\ at' = [at EXCEPT ![p] = "Done"]
            /\ UNCHANGED <<left, inbox>>
       ELSE /\ inbox' = inbox + 1
            /\ left' = [left EXCEPT ![p] = left[p] - 1]
            /\ at' = [at EXCEPT ![p] =
                 IF Mutant = "forgotten_notify" \/ (NotifiesFirst /\ left[p] = 1)
                   THEN "Produce" ELSE "DontUndoOther"]
  /\ UNCHANGED <<me, phase, ticket, signaled, condVar, blocked>>

\* One mutant drops a notification if messages are yet to come.
Dropped == Mutant = "drop_wakes_but_last" /\ \E p \in Producers : left[p] > 0

DontUndoOther(p) ==
  /\ at[p] = "DontUndoOther"
  /\ at' = [at EXCEPT ![p] = IF signaled \/ Dropped THEN "Produce" ELSE "Notify"]
  /\ UNCHANGED <<left, me, phase, ticket, signaled, condVar, blocked, inbox>>

RaiseSignal ==
  /\ signaled' = TRUE
  /\ UNCHANGED <<condVar, blocked>>

WakeUp ==
  /\ condVar' = IF KeepsFlag /\ Mutant # "drop_all_wakes" THEN TRUE ELSE condVar
  /\ blocked' = IF KeepsFlag \/ Mutant = "drop_all_wakes" THEN blocked ELSE FALSE
  /\ UNCHANGED signaled

Notify(p) ==
  /\ at[p] = "Notify"
  /\ IF Mutant = "wake_first" THEN WakeUp ELSE RaiseSignal
  /\ at' = [at EXCEPT ![p] = "InvalidTicket"]
  /\ UNCHANGED <<left, me, phase, ticket, inbox>>

InvalidTicket(p) ==
  /\ at[p] = "InvalidTicket"
  /\ phase' = (phase + 1) % PhaseMod
  /\ IF ~HasMutex THEN UNCHANGED <<signaled, condVar, blocked>>
     ELSE IF Mutant = "wake_first" THEN RaiseSignal ELSE WakeUp
  /\ at' = [at EXCEPT ![p] = IF HasMutex THEN "Produce" ELSE "Awaken"]
  /\ UNCHANGED <<left, me, ticket, inbox>>

Awaken(p) ==
  /\ at[p] = "Awaken"
  /\ IF Mutant = "wake_first" THEN RaiseSignal ELSE WakeUp
  /\ at' = [at EXCEPT ![p] = "Produce"]
  /\ UNCHANGED <<left, me, phase, ticket, inbox>>

producer(p) == Produce(p) \/ DontUndoOther(p) \/ Notify(p) \/ InvalidTicket(p) \/ Awaken(p)

(* ---------------------------------- consumer ------------------------------ *)

Valid == ticket = phase \/ TicketUse = "ignored"

Check ==
  /\ me = "Check"
  /\ inbox' = 0
  /\ me' = "NotSignaled"
  /\ UNCHANGED <<at, left, phase, ticket, signaled, condVar, blocked>>

NotSignaled ==
  /\ me = "NotSignaled"
  /\ me' = IF signaled THEN "NotSignaled2" ELSE "TakeTicket"
  /\ UNCHANGED <<at, left, phase, ticket, signaled, condVar, blocked, inbox>>

TakeTicket ==
  /\ me = "TakeTicket"
  /\ ticket' = phase
  /\ me' = "NotSignaled2"
  /\ UNCHANGED <<at, left, phase, signaled, condVar, blocked, inbox>>

NotSignaled2 ==
  /\ me = "NotSignaled2"
  /\ me' = IF signaled THEN "Late" ELSE "StillValid"
  /\ UNCHANGED <<at, left, phase, ticket, signaled, condVar, blocked, inbox>>

\* Under a mutex this is also the step that falls asleep.
StillValid ==
  /\ me = "StillValid"
  /\ me' = IF ~Valid THEN "Late" ELSE IF HasMutex THEN "Wait" ELSE "Block"
  /\ blocked' = IF Valid /\ HasMutex THEN TRUE ELSE blocked
  /\ UNCHANGED <<at, left, phase, ticket, signaled, condVar, inbox>>

Block ==
  /\ me = "Block"
  /\ blocked' = (Kind = "bare")
  /\ me' = "Wait"
  /\ UNCHANGED <<at, left, phase, ticket, signaled, condVar, inbox>>

Asleep ==
  /\ me = "Wait"
  /\ IF KeepsFlag THEN ~condVar ELSE blocked

Wait ==
  /\ me = "Wait"
  /\ ~Asleep
  /\ condVar' = FALSE
  /\ IF Kind = "mutexloop" /\ Valid
       THEN /\ blocked' = TRUE
            /\ UNCHANGED me
       ELSE /\ me' = "Late"
            /\ UNCHANGED blocked
  /\ UNCHANGED <<at, left, phase, ticket, signaled, inbox>>

Late ==
  /\ me = "Late"
  /\ inbox' = IF Order = "before" THEN 0 ELSE inbox
  /\ me' = "Reset"
  /\ UNCHANGED <<at, left, phase, ticket, signaled, condVar, blocked>>

Reset ==
  /\ me = "Reset"
  /\ signaled' = IF Mutant = "forget_reset" THEN signaled ELSE FALSE
  /\ me' = "Reset2"
  /\ UNCHANGED <<at, left, phase, ticket, condVar, blocked, inbox>>

Reset2 ==
  /\ me = "Reset2"
  /\ condVar' = IF Kind = "futex" THEN FALSE ELSE condVar
  /\ me' = IF Order = "before" THEN "NotSignaled" ELSE "Check"
  /\ UNCHANGED <<at, left, phase, ticket, signaled, blocked, inbox>>

consumer ==
  \/ Check \/ NotSignaled \/ TakeTicket \/ NotSignaled2 \/ StillValid \/ Block
  \/ Wait \/ Late \/ Reset \/ Reset2

\* Never relied upon. On a condition variable the sleeper leaves the list, and goes on from there.
WakeForNoReason ==
  /\ Spurious
  /\ Asleep
  /\ blocked' = FALSE
  /\ me' = IF KeepsFlag THEN "Late" ELSE "Wait"
  /\ UNCHANGED <<at, left, phase, ticket, signaled, condVar, inbox>>

(* ----------------------------------- spec --------------------------------- *)

AllDone == \A p \in Producers : at[p] = "Done"

\* To sleep when all is done is no deadlock.
AtRest ==
  /\ AllDone
  /\ Asleep
  /\ UNCHANGED vars

Next ==
  \/ consumer
  \/ WakeForNoReason
  \/ \E p \in Producers : producer(p)
  \/ AtRest

Spec ==
  /\ Init /\ [][Next]_vars
  /\ WF_vars(consumer)
  /\ \A p \in Producers : WF_vars(producer(p))

(* -------------------------------- properties ------------------------------ *)

TypeOK ==
  /\ {signaled, condVar, blocked} \subseteq BOOLEAN
  /\ phase \in 0..(PhaseMod - 1)
  /\ ticket \in 0..(PhaseMod - 1)
  /\ inbox \in 0..100
  /\ \A p \in Producers : left[p] \in 0..Msgs

\* Nobody is on the way to wake anybody.
Quiet == \A p \in Producers : at[p] \in {"Produce", "Done"}

\* Nobody sleeps on a message whose producer has notified.
NoLostWakeup == ~(Asleep /\ Quiet /\ inbox > 0)

\* Nobody sleeps on a message when no other will come.
NoSleepForever == ~(Asleep /\ AllDone /\ inbox > 0)

\* Posted leads to read: the producers are fair, so posted leads to notified.
Delivered == (inbox > 0) ~> (inbox = 0)

\* A signal that the consumer meets on its way to sleep is used up.
SignalUsedUp ==
  (signaled /\ me \in {"NotSignaled2", "StillValid", "Block", "Wait", "Late", "Reset"})
    ~> ~signaled
=============================================================================
