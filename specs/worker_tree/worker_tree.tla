----------------------------- MODULE worker_tree -----------------------------
(* A worker sleeps until its parent has a task for it, or tells it to end.    *)
(*                                                                            *)
(* Sleeping takes two steps, and between them the worker asks for work:       *)
(*                                                                            *)
(*   consumer: prepareParking ---- msgToParent := "Waiting" ---- park         *)
(*               ticket := phase                           sleeps if nobody   *)
(*                                                         notified since     *)
(*   parent:   sees "Waiting", notifies, clears the message, gives a task     *)
(*   notify:   signaled := TRUE, phase := ~phase, condVar := TRUE             *)
(*                                                                            *)
(* The other threads, the producers, work off their own tasks and leave. The  *)
(* parent ends when no task is left: it says so, and notifies a last time.    *)
(*                                                                            *)
(* Every label of the PlusCal text that this is a translation of (seed 003)   *)
(* is one action, so the states are those of that text, one by one. A stack   *)
(* holds the labels to return to; what else PlusCal stacks, the parameters    *)
(* and the locals of procedures, never differs between two states that agree  *)
(* in pc and stack.                                                           *)
(*                                                                            *)
(* As written, the parent notifies before it clears the message. By then the  *)
(* child may have gone to sleep again, and its new message is the one that is *)
(* cleared. Repaired, the parent clears first.                                *)
EXTENDS Integers, Sequences

CONSTANTS
  NumThreads,   \* threads, numbered from 0
  ConsumerTID,  \* the one that sleeps, not 0
  MaxTasks,     \* tasks that a thread begins with, at the most
  Repaired,     \* whether the parent clears the message before it notifies
  TicketUse,    \* "checked"; "ignored" by park; "late": taken after the message
  Watch,        \* whether to keep `answered`, which the seed has not
  Mutant        \* "none", or the mistake that is made, see README.md

VARIABLES
  pc,                 \* the label at which each thread is
  stack,              \* the labels that each thread returns to, innermost first
  phase,              \* a binary timestamp
  ticket,             \* the phase in which the consumer may sleep
  signaled,           \* somebody has notified, and no park has ended since
  condVar,            \* a wake-up that nobody has taken
  msgToParent,        \* "Waiting": the consumer asks for work
  signaledTerminate,  \* the parent has told the consumer to end
  tasks,              \* what each thread has to do
  answered            \* while watching: the parent has notified a sleeper, still at Wait

vars == <<pc, stack, phase, ticket, signaled, condVar, msgToParent, signaledTerminate, tasks,
          answered>>
flags == <<phase, ticket, signaled, condVar>>       \* the notifier
talk == <<msgToParent, signaledTerminate, answered>>

Threads == 0..(NumThreads - 1)
ParentTID == ConsumerTID \div 2
Producers == Threads \ {ConsumerTID, ParentTID}

Watching == Watch \/ Mutant # "none"

InNotify(t) ==
  pc[t] \in {"DontUndoOther", "EarlyExit", "Notify", "InvalidTicket", "Awaken", "RET_Notify"}

Init ==
  /\ pc = [t \in Threads |-> IF t = ParentTID THEN "ParentWork"
                             ELSE IF t = ConsumerTID THEN "ConsumerWork" ELSE "Coworkers"]
  /\ stack = [t \in Threads |-> <<>>]
  /\ phase = FALSE
  /\ ticket = FALSE
  /\ signaled = FALSE
  /\ condVar = FALSE
  /\ msgToParent = "None"
  /\ signaledTerminate = FALSE
  /\ tasks \in [Threads -> 0..MaxTasks]
  /\ answered = FALSE

(* ---------------------------- going from place to place ------------------- *)

GoTo(t, label) ==
  /\ pc' = [pc EXCEPT ![t] = label]
  /\ UNCHANGED stack

Call(t, label, back) ==
  /\ pc' = [pc EXCEPT ![t] = label]
  /\ stack' = [stack EXCEPT ![t] = <<back>> \o stack[t]]

Return(t) ==
  /\ pc' = [pc EXCEPT ![t] = Head(stack[t])]
  /\ stack' = [stack EXCEPT ![t] = Tail(stack[t])]

\* One mutant's notify() does nothing until the parent ends.
CallNotify(t, back) ==
  IF Mutant = "drop_wakes_but_last" /\ ~signaledTerminate
    THEN GoTo(t, back)
    ELSE Call(t, "DontUndoOther", back)

DoTask(t) == tasks' = [tasks EXCEPT ![t] = tasks[t] - 1]

(* ----------------------------------- notify ------------------------------- *)

DontUndoOther(t) ==
  /\ pc[t] = "DontUndoOther"
  /\ GoTo(t, IF signaled THEN "EarlyExit" ELSE "Notify")
  /\ UNCHANGED <<flags, talk, tasks>>

EarlyExit(t) ==
  /\ pc[t] = "EarlyExit"
  /\ Return(t)
  /\ UNCHANGED <<flags, talk, tasks>>

RaiseSignal ==
  /\ signaled' = TRUE
  /\ UNCHANGED condVar

RaiseWake ==
  /\ condVar' = IF Mutant = "drop_all_wakes" THEN condVar ELSE TRUE
  /\ UNCHANGED signaled

Notify(t) ==
  /\ pc[t] = "Notify"
  /\ IF Mutant = "wake_first" THEN RaiseWake ELSE RaiseSignal
  /\ GoTo(t, "InvalidTicket")
  /\ UNCHANGED <<phase, ticket, talk, tasks>>

InvalidTicket(t) ==
  /\ pc[t] = "InvalidTicket"
  /\ phase' = ~phase
  /\ GoTo(t, "Awaken")
  /\ UNCHANGED <<ticket, signaled, condVar, talk, tasks>>

Awaken(t) ==
  /\ pc[t] = "Awaken"
  /\ IF Mutant = "wake_first" THEN RaiseSignal ELSE RaiseWake
  /\ GoTo(t, "RET_Notify")
  /\ UNCHANGED <<phase, ticket, talk, tasks>>

RET_Notify(t) ==
  /\ pc[t] = "RET_Notify"
  /\ Return(t)
  /\ UNCHANGED <<flags, talk, tasks>>

notify(t) ==
  DontUndoOther(t) \/ EarlyExit(t) \/ Notify(t) \/ InvalidTicket(t) \/ Awaken(t) \/ RET_Notify(t)

(* ------------------------------- mayRequestWork --------------------------- *)

MaySteal(t) ==
  /\ pc[t] = "MaySteal"
  /\ GoTo(t, IF tasks[t] > 0 THEN "Work" ELSE "Steal")
  /\ UNCHANGED <<flags, talk, tasks>>

Work(t) ==
  /\ pc[t] = "Work"
  /\ DoTask(t)
  /\ GoTo(t, "RET_WS")
  /\ UNCHANGED <<flags, talk>>

Steal(t) ==
  /\ pc[t] = "Steal"
  /\ CallNotify(t, "RET_WS")
  /\ UNCHANGED <<flags, talk, tasks>>

RET_WS(t) ==
  /\ pc[t] = "RET_WS"
  /\ Return(t)
  /\ UNCHANGED <<flags, talk, tasks>>

mayRequestWork(t) == MaySteal(t) \/ Work(t) \/ Steal(t) \/ RET_WS(t)

(* -------------------------------- mayShareWork ---------------------------- *)

MayShare(t) ==
  /\ pc[t] = "MayShare"
  /\ GoTo(t, IF tasks[t] > 0 THEN "Share0" ELSE "RET_Share")
  /\ UNCHANGED <<flags, talk, tasks>>

Share0(t) ==
  /\ pc[t] = "Share0"
  /\ GoTo(t, IF msgToParent = "Waiting" THEN "Share1" ELSE "RET_Share")
  /\ UNCHANGED <<flags, talk, tasks>>

\* The two halves of an answer, in either order.
WakeChild(t, then) ==
  /\ answered' = (Watching /\ pc[ConsumerTID] = "Wait")
  /\ IF Mutant = "forgotten_notify" THEN GoTo(t, then) ELSE CallNotify(t, then)
  /\ UNCHANGED <<flags, msgToParent, signaledTerminate, tasks>>

ClearMessage(t, then) ==
  /\ msgToParent' = "None"
  /\ GoTo(t, then)
  /\ UNCHANGED <<flags, signaledTerminate, answered, tasks>>

Share1(t) ==
  /\ pc[t] = "Share1"
  /\ IF Repaired THEN ClearMessage(t, "Share2") ELSE WakeChild(t, "Share2")

Share2(t) ==
  /\ pc[t] = "Share2"
  /\ IF Repaired THEN WakeChild(t, "TaskShared") ELSE ClearMessage(t, "TaskShared")

TaskShared(t) ==
  /\ pc[t] = "TaskShared"
  /\ DoTask(t)
  /\ GoTo(t, "RET_Share")
  /\ UNCHANGED <<flags, talk>>

RET_Share(t) ==
  /\ pc[t] = "RET_Share"
  /\ Return(t)
  /\ UNCHANGED <<flags, talk, tasks>>

mayShareWork(t) ==
  MayShare(t) \/ Share0(t) \/ Share1(t) \/ Share2(t) \/ TaskShared(t) \/ RET_Share(t)

(* ------------------------------- prepareParking --------------------------- *)

NotSignaled(t) ==
  /\ pc[t] = "NotSignaled"
  /\ GoTo(t, IF signaled THEN "RET_Int" ELSE "TakeTicket")
  /\ UNCHANGED <<flags, talk, tasks>>

TakeTicket(t) ==
  /\ pc[t] = "TakeTicket"
  /\ ticket' = phase
  /\ GoTo(t, "RET_Int")
  /\ UNCHANGED <<phase, signaled, condVar, talk, tasks>>

RET_Int(t) ==
  /\ pc[t] = "RET_Int"
  /\ Return(t)
  /\ UNCHANGED <<flags, talk, tasks>>

prepareParking(t) == NotSignaled(t) \/ TakeTicket(t) \/ RET_Int(t)

(* ------------------------------------ park -------------------------------- *)

NotSignaled2(t) ==
  /\ pc[t] = "NotSignaled2"
  /\ GoTo(t, IF signaled THEN "Reset" ELSE "StillValid")
  /\ UNCHANGED <<flags, talk, tasks>>

StillValid(t) ==
  /\ pc[t] = "StillValid"
  /\ GoTo(t, IF ticket = phase \/ TicketUse = "ignored" THEN "Wait" ELSE "Reset")
  /\ UNCHANGED <<flags, talk, tasks>>

\* The wake-up stays until the sleeper takes it, as a binary semaphore has it.
Wait(t) ==
  /\ pc[t] = "Wait"
  /\ condVar
  /\ condVar' = (Mutant = "keep_wake")
  /\ answered' = FALSE
  /\ GoTo(t, "Reset")
  /\ UNCHANGED <<phase, ticket, signaled, msgToParent, signaledTerminate, tasks>>

Reset(t) ==
  /\ pc[t] = "Reset"
  /\ signaled' = IF Mutant = "forget_reset" THEN signaled ELSE FALSE
  /\ GoTo(t, "RET_Park")
  /\ UNCHANGED <<phase, ticket, condVar, talk, tasks>>

RET_Park(t) ==
  /\ pc[t] = "RET_Park"
  /\ Return(t)
  /\ UNCHANGED <<flags, talk, tasks>>

park(t) == NotSignaled2(t) \/ StillValid(t) \/ Wait(t) \/ Reset(t) \/ RET_Park(t)

(* --------------------------------- producers ------------------------------ *)

Coworkers(t) ==
  /\ pc[t] = "Coworkers"
  /\ IF tasks[t] > 0 THEN Call(t, "MaySteal", "Coworkers") ELSE GoTo(t, "Done")
  /\ UNCHANGED <<flags, talk, tasks>>

producer(t) == Coworkers(t)

(* ---------------------------------- parent -------------------------------- *)

\* Work and share, or share and work.
ParentWork ==
  /\ pc[ParentTID] = "ParentWork"
  /\ \/ GoTo(ParentTID, "PMayRW0")
     \/ GoTo(ParentTID, "PMaySW1")
  /\ UNCHANGED <<flags, talk, tasks>>

PMayRW0 ==
  /\ pc[ParentTID] = "PMayRW0"
  /\ Call(ParentTID, "MaySteal", "PMaySW0")
  /\ UNCHANGED <<flags, talk, tasks>>

PMaySW0 ==
  /\ pc[ParentTID] = "PMaySW0"
  /\ Call(ParentTID, "MayShare", "OutOfWork")
  /\ UNCHANGED <<flags, talk, tasks>>

PMaySW1 ==
  /\ pc[ParentTID] = "PMaySW1"
  /\ Call(ParentTID, "MayShare", "PMayRW1")
  /\ UNCHANGED <<flags, talk, tasks>>

PMayRW1 ==
  /\ pc[ParentTID] = "PMayRW1"
  /\ Call(ParentTID, "MaySteal", "OutOfWork")
  /\ UNCHANGED <<flags, talk, tasks>>

OutOfWork ==
  /\ pc[ParentTID] = "OutOfWork"
  /\ GoTo(ParentTID,
          IF \E t \in Threads : tasks[t] > 0 THEN "StillWork"
          ELSE IF Mutant = "notify_before_terminate" THEN "WakeTerm1" ELSE "Terminate0")
  /\ UNCHANGED <<flags, talk, tasks>>

StillWork ==
  /\ pc[ParentTID] = "StillWork"
  /\ GoTo(ParentTID, "ParentWork")
  /\ UNCHANGED <<flags, talk, tasks>>

Terminate0 ==
  /\ pc[ParentTID] = "Terminate0"
  /\ signaledTerminate' = TRUE
  /\ GoTo(ParentTID, IF Mutant = "notify_before_terminate" THEN "Drop" ELSE "WakeTerm1")
  /\ UNCHANGED <<flags, msgToParent, answered, tasks>>

WakeTerm1 ==
  /\ pc[ParentTID] = "WakeTerm1"
  /\ IF Mutant = "terminate_without_notify" THEN GoTo(ParentTID, "Drop")
     ELSE CallNotify(ParentTID, IF Mutant = "notify_before_terminate" THEN "Terminate0" ELSE "Drop")
  /\ UNCHANGED <<flags, talk, tasks>>

Drop ==
  /\ pc[ParentTID] = "Drop"
  /\ ClearMessage(ParentTID, "Done")

parent ==
  \/ ParentWork \/ PMayRW0 \/ PMaySW0 \/ PMaySW1 \/ PMayRW1
  \/ OutOfWork \/ StillWork \/ Terminate0 \/ WakeTerm1 \/ Drop

(* --------------------------------- consumer ------------------------------- *)

ConsumerWork ==
  /\ pc[ConsumerTID] = "ConsumerWork"
  /\ GoTo(ConsumerTID,
          IF tasks[ConsumerTID] > 0 THEN "FoundWork"
          ELSE IF TicketUse = "late" THEN "Sleeping1" ELSE "Sleeping0")
  /\ UNCHANGED <<flags, talk, tasks>>

FoundWork ==
  /\ pc[ConsumerTID] = "FoundWork"
  /\ DoTask(ConsumerTID)
  /\ GoTo(ConsumerTID, "isEnding")
  /\ UNCHANGED <<flags, talk>>

Sleeping0 ==
  /\ pc[ConsumerTID] = "Sleeping0"
  /\ Call(ConsumerTID, "NotSignaled", IF TicketUse = "late" THEN "Sleeping2" ELSE "Sleeping1")
  /\ UNCHANGED <<flags, talk, tasks>>

Sleeping1 ==
  /\ pc[ConsumerTID] = "Sleeping1"
  /\ msgToParent' = "Waiting"
  /\ GoTo(ConsumerTID, IF TicketUse = "late" THEN "Sleeping0" ELSE "Sleeping2")
  /\ UNCHANGED <<flags, signaledTerminate, answered, tasks>>

Sleeping2 ==
  /\ pc[ConsumerTID] = "Sleeping2"
  /\ Call(ConsumerTID, "NotSignaled2", "isEnding")
  /\ UNCHANGED <<flags, talk, tasks>>

isEnding ==
  /\ pc[ConsumerTID] = "isEnding"
  /\ GoTo(ConsumerTID, IF signaledTerminate THEN "RecvTerminate" ELSE "ConsumerWork")
  /\ UNCHANGED <<flags, talk, tasks>>

RecvTerminate ==
  /\ pc[ConsumerTID] = "RecvTerminate"
  /\ GoTo(ConsumerTID, "Done")
  /\ UNCHANGED <<flags, talk, tasks>>

consumer ==
  \/ ConsumerWork \/ FoundWork \/ Sleeping0 \/ Sleeping1 \/ Sleeping2
  \/ isEnding \/ RecvTerminate

(* ----------------------------------- spec --------------------------------- *)

AllDone == \A t \in Threads : pc[t] = "Done"

\* The end is no deadlock.
Terminating ==
  /\ AllDone
  /\ UNCHANGED vars

Next ==
  \/ parent
  \/ consumer
  \/ \E t \in Threads :
       mayRequestWork(t) \/ mayShareWork(t) \/ prepareParking(t) \/ park(t) \/ notify(t)
  \/ \E t \in Producers : producer(t)
  \/ Terminating

Spec ==
  /\ Init /\ [][Next]_vars
  /\ WF_vars(parent)
  /\ WF_vars(consumer)
  /\ WF_vars(mayShareWork(ParentTID))
  /\ WF_vars(prepareParking(ConsumerTID))
  /\ WF_vars(park(ConsumerTID))
  /\ \A t \in Threads : WF_vars(mayRequestWork(t))
  /\ \A t \in Threads : WF_vars(notify(t))
  /\ \A t \in Producers : WF_vars(producer(t))

(* -------------------------------- properties ------------------------------ *)

TypeOK ==
  /\ {phase, ticket, signaled, condVar, signaledTerminate, answered} \subseteq BOOLEAN
  /\ msgToParent \in {"None", "Waiting"}
  /\ \A t \in Threads : tasks[t] \in 0..MaxTasks

\* The consumer sleeps, and nobody is about to wake it.
Asleep ==
  /\ pc[ConsumerTID] = "Wait"
  /\ ~condVar
  /\ \A t \in Threads : ~InNotify(t)

\* Nobody ends and leaves a sleeper behind.
NoSleeperLeft == Asleep => \E t \in Threads \ {ConsumerTID} : pc[t] # "Done"

\* Who was told to end does not sleep.
TerminateNotLost == pc[ParentTID] \in {"Drop", "Done"} => ~Asleep

\* True, and a weakness of the seed: the producers that its text speaks of never notify.
OnlyParentNotifies == \A t \in Producers : ~InNotify(t) /\ pc[t] # "Steal"

\* Nobody sleeps on a signal.
NoSignalSleptOn == Asleep => ~signaled

\* A sleeper that was answered wakes up. Says nothing unless watching.
AnswerWakes == Asleep => ~answered

\* The sleeper's request is there for the parent to see. As written it may be cleared unseen.
RequestNotLost == Asleep => (msgToParent = "Waiting" \/ pc[ParentTID] \in {"Share2", "Drop", "Done"})

\* How bad that is: the parent has a task, begins a new round, and does not know of the sleeper.
NoSilentSleeper ==
  ~(Asleep /\ msgToParent = "None" /\ pc[ParentTID] = "ParentWork" /\ tasks[ParentTID] > 0)

Termination == <>AllDone

\* A signal that park meets, and a wake-up, are used up.
SignalUsedUp ==
  (signaled /\ pc[ConsumerTID] \in {"NotSignaled2", "StillValid", "Wait", "Reset"}) ~> ~signaled
WakeUsedUp == (condVar /\ pc[ConsumerTID] = "Wait") ~> ~condVar
=============================================================================
