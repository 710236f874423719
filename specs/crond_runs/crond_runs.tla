----------------------------- MODULE crond_runs -----------------------------
(* A job daemon that counts runs, lets jobs be removed at any time, starts    *)
(* due firings in order, loses none and starts none twice, also if it crashes.*)
(*                                                                            *)
(*   none --AddJob--> set --SetJob--> no --Start--> yes --Sched--> run        *)
(*                                    ^                             |         *)
(*                                    +-------Record or Skip--------+         *)
(*                                                                            *)
(* The clock goes on whatever the daemon does, and makes instants pass. The   *)
(* daemon's timer wakes it. One transaction then writes a row for every       *)
(* instant that has passed: the last one due, the others skipped. A firing:   *)
(*                                                                            *)
(*   pending --Record--> due --Exec--> launched --Spawn, Claim--> runs        *)
(*                                                                            *)
(* Exec writes to the ledger and takes a slot, before there is any process.   *)
(* Spawn makes a runner, which creates the run's file or, if there is one,    *)
(* leaves: so a second runner after a crash does no harm. Rows and files      *)
(* survive a crash, and so do runners and programs; timers do not, nor does   *)
(* the knowledge of who was spawned.                                          *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  MAXAPROGS,  \* how many runs may be under way at once
  PROGS,      \* the programs
  Ids,        \* the names of jobs
  Times,      \* how far a job's instants may be apart
  Overlap,    \* "skip", "queue" or "allow" a firing of a job that still runs
  Passes,     \* with "queue": how often a firing that waits for its own job is passed
  Missed,     \* how many instants of a job may pass before the daemon sees them
  Crashes,    \* how often the daemon may crash
  Ask,        \* "none", or a property that is known to fail
  Mutant      \* "none", or the mistake that is made, see README.md

VARIABLES
  crontab,    \* each job: time, program, status, and whether its timer runs
  since,      \* each job: time since its last instant
  pending,    \* each job: instants that have passed and have no row
  open,       \* each job: instants that have passed, less programs started and rows skipped
  due,        \* the rows that wait for a slot, in order; others: launched since it came due,
              \* passed: how many of these had stood behind it
  slots,      \* the rows that are launched and not over
  up,         \* whether the daemon runs
  crashed     \* how often it has crashed

vars == <<crontab, since, pending, open, due, slots, up, crashed>>
clock == <<since, pending, open>>
daemon == <<up, crashed>>

nullp == "nullp"
nobody == "nobody"
Gone == [time |-> 0, prog |-> nullp, status |-> "none", armed |-> FALSE]
Empty == [job |-> nobody, prog |-> nullp, file |-> "absent", spawned |-> FALSE,
          runners |-> 0, starts |-> 0]

\* One more than the cap, so that a mistake can show.
Slots == 1..(MAXAPROGS + 1)

Init ==
  /\ crontab = [i \in Ids |-> Gone]
  /\ since = [i \in Ids |-> 0]
  /\ pending = [i \in Ids |-> 0]
  /\ open = [i \in Ids |-> 0]
  /\ due = <<>>
  /\ slots = [k \in Slots |-> Empty]
  /\ up = TRUE
  /\ crashed = 0

Waits(i) == \E n \in 1..Len(due) : due[n].job = i
Launched == {k \in Slots : slots[k].job # nobody}
LaunchedOf(i) == {k \in Slots : slots[k].job = i}

Without(n) == [m \in 1..(Len(due) - 1) |-> IF m < n THEN due[m] ELSE due[m + 1]]
Least(a, b) == IF a < b THEN a ELSE b

(* ---------------------------------- table -------------------------------- *)

Becomes(i, status, armed) ==
  crontab' = [crontab EXCEPT ![i].status = status, ![i].armed = armed]

AddJob(i, t, p) ==
  /\ up
  /\ crontab[i].status = "none"
  /\ crontab' = [crontab EXCEPT ![i].time = t, ![i].prog = p, ![i].status = "set"]
  /\ UNCHANGED <<clock, due, slots, daemon>>

SetJob(i) ==
  /\ up
  /\ crontab[i].status = "set"
  /\ Becomes(i, "no", crontab[i].armed)
  /\ UNCHANGED <<clock, due, slots, daemon>>

Start(i) ==
  /\ up
  /\ crontab[i].status = "no"
  /\ Becomes(i, "yes", TRUE)
  /\ UNCHANGED <<clock, due, slots, daemon>>

Sched(i) ==
  /\ up
  /\ crontab[i].status = "yes"
  /\ crontab[i].armed
  /\ pending[i] > 0 \/ Mutant = "timer_early"
  /\ Becomes(i, "run", FALSE)
  /\ UNCHANGED <<clock, due, slots, daemon>>

(* --------------------------------- ledger -------------------------------- *)

\* How many runs the daemon believes to be under way.
Counted == {k \in Launched :
              ~(Mutant = "adopted_not_counted" /\ ~slots[k].spawned /\ slots[k].file # "absent")}
Used == IF Mutant = "cap_counts_programs" THEN Cardinality({slots[k].prog : k \in Counted})
        ELSE Cardinality(Counted)
Full == Used >= MAXAPROGS

\* At most one firing of a job waits, and with "skip" none does while the job runs.
Busy(i) ==
  \/ Waits(i)
  \/ Overlap = "skip" /\ LaunchedOf(i) # {} /\ Mutant # "overlap_ignored"

Rests(i) == Becomes(i, IF Mutant = "rearm_forgotten" THEN "yes" ELSE "no", FALSE)

Lost == Mutant = "lose_when_full" /\ Full

\* One transaction: the last instant is due, those before it are skipped.
Record(i) ==
  /\ up
  /\ crontab[i].status = "run"
  /\ ~Busy(i)
  /\ Rests(i)
  /\ pending' = [pending EXCEPT ![i] = IF Mutant = "catchup_twice" /\ @ > 1 THEN 1 ELSE 0]
  /\ due' = IF Lost THEN due ELSE Append(due, [job |-> i, others |-> 0, passed |-> 0])
  /\ open' = IF Lost \/ pending[i] = 0 THEN open
             ELSE [open EXCEPT ![i] = @ - (pending[i] - 1)]
  /\ UNCHANGED <<since, slots, daemon>>

\* One transaction: all of them are skipped.
Skip(i) ==
  /\ up
  /\ crontab[i].status = "run"
  /\ Busy(i)
  /\ Rests(i)
  /\ pending' = [pending EXCEPT ![i] = 0]
  /\ open' = IF Mutant = "skip_unrecorded" THEN open ELSE [open EXCEPT ![i] = @ - pending[i]]
  /\ UNCHANGED <<since, due, slots, daemon>>

\* In every state. What waits is skipped, what was launched goes on.
RemoveJob(i) ==
  /\ up
  /\ crontab[i].status # "none"
  /\ crontab' = [crontab EXCEPT ![i] =
       [Gone EXCEPT !.armed = (Mutant = "remove_leaves_timer" /\ crontab[i].armed)]]
  /\ since' = [since EXCEPT ![i] = 0]
  /\ pending' = [pending EXCEPT ![i] = 0]
  /\ IF Waits(i) /\ Mutant # "remove_leaves_due"
       THEN /\ due' = Without(CHOOSE n \in 1..Len(due) : due[n].job = i)
            /\ open' = [open EXCEPT ![i] = @ - pending[i] - 1]
       ELSE /\ due' = due
            /\ open' = [open EXCEPT ![i] = @ - pending[i]]
  /\ UNCHANGED <<slots, daemon>>

(* ---------------------------------- runs --------------------------------- *)

\* With "queue" a firing waits until its own job is over.
Held(n) == Overlap = "queue" /\ LaunchedOf(due[n].job) # {} /\ Mutant # "overlap_ignored"

\* Row n is the next one: those before it are held and may be passed once more.
IsNext(n) ==
  /\ ~Held(n)
  /\ \A m \in 1..(n - 1) :
       \/ Mutant = "any_order"
       \/ Held(m) /\ (due[m].passed < Passes \/ Mutant = "pass_unbounded")

Launch(i) ==
  LET k == CHOOSE f \in Slots \ Launched : \A g \in Slots \ Launched : f <= g
  IN slots' = [slots EXCEPT ![k] = [Empty EXCEPT !.job = i, !.prog = crontab[i].prog]]

Exec(i) ==
  /\ up
  /\ ~Full \/ Mutant = "cap_not_checked"
  /\ Slots \ Launched # {}
  /\ \/ \E n \in 1..Len(due) :
          /\ due[n].job = i
          /\ IsNext(n)
          /\ due' = [m \in 1..(Len(due) - 1) |->
                       LET row == Without(n)[m]
                       IN [row EXCEPT !.others = @ + 1,
                                      !.passed = IF m < n THEN Least(@ + 1, Passes) ELSE @]]
     \/ /\ Mutant = "start_before_record"
        /\ crontab[i].status = "run"
        /\ LaunchedOf(i) = {}
        /\ due' = due
  /\ Launch(i)
  /\ UNCHANGED <<crontab, clock, daemon>>

\* Also after a crash, for a row that was launched and has no file.
Spawn(k) ==
  /\ up
  /\ slots[k].job # nobody
  /\ ~slots[k].spawned
  /\ slots[k].file = "absent"
  /\ slots' = [slots EXCEPT ![k].spawned = TRUE, ![k].runners = @ + 1]
  /\ UNCHANGED <<crontab, clock, due, daemon>>

\* A runner creates the file and starts the program, or leaves.
Claim(k) ==
  /\ slots[k].runners > 0
  /\ IF slots[k].file = "absent" \/ Mutant = "no_excl"
       THEN /\ slots' = [slots EXCEPT
                 ![k].runners = @ - 1,
                 ![k].starts = Least(@ + 1, 2),
                 ![k].file = IF @ = "absent" THEN "locked" ELSE @]
            /\ open' = [open EXCEPT ![slots[k].job] = @ - 1]
       ELSE /\ slots' = [slots EXCEPT ![k].runners = @ - 1]
            /\ open' = open
  /\ UNCHANGED <<crontab, since, pending, due, daemon>>

\* The program ends, and its status is in the file.
End(k) ==
  /\ slots[k].file = "locked"
  /\ slots' = [slots EXCEPT ![k].file = "ended"]
  /\ UNCHANGED <<crontab, clock, due, daemon>>

\* The daemon learns of it. A runner that comes later still finds the file, and leaves.
Finish(k) ==
  /\ up
  /\ slots[k].file = "ended"
  /\ Mutant = "slot_leak" => crontab[slots[k].job].status # "none"
  /\ slots' = [slots EXCEPT ![k] = Empty]
  /\ UNCHANGED <<crontab, clock, due, daemon>>

(* ------------------------------ surroundings ----------------------------- *)

Scheduled == {i \in Ids : crontab[i].status \in {"no", "yes", "run"}}
Passing == {i \in Scheduled : since[i] + 1 = crontab[i].time}

\* The clock waits before an instant that would be one too many to remember.
Tick ==
  /\ Scheduled # {}
  /\ \A i \in Passing : pending[i] < Missed
  /\ since' = [i \in Ids |-> IF i \in Passing THEN 0
                             ELSE IF i \in Scheduled THEN since[i] + 1 ELSE since[i]]
  /\ pending' = [i \in Ids |-> IF i \in Passing THEN pending[i] + 1 ELSE pending[i]]
  /\ open' = [i \in Ids |-> IF i \in Passing THEN open[i] + 1 ELSE open[i]]
  /\ UNCHANGED <<crontab, due, slots, daemon>>

Crash ==
  /\ up
  /\ crashed < Crashes
  /\ up' = FALSE
  /\ crashed' = crashed + 1
  /\ crontab' = [i \in Ids |->
       [crontab[i] EXCEPT !.armed = FALSE, !.status = IF @ \in {"yes", "run"} THEN "no" ELSE @]]
  /\ slots' = [k \in Slots |->
       IF slots[k].job = nobody THEN Empty
       ELSE [slots[k] EXCEPT !.spawned = (Mutant = "respawn_forgotten")]]
  /\ due' = IF Mutant = "queue_in_memory" THEN <<>> ELSE due
  /\ UNCHANGED clock

Restart ==
  /\ ~up
  /\ up' = TRUE
  /\ UNCHANGED <<crontab, clock, due, slots, crashed>>

(* ---------------------------------- spec --------------------------------- *)

Next ==
  \/ \E i \in Ids, t \in Times, p \in PROGS : AddJob(i, t, p)
  \/ \E i \in Ids : \/ SetJob(i) \/ Start(i) \/ Sched(i) \/ Record(i) \/ Skip(i)
                    \/ Exec(i) \/ RemoveJob(i)
  \/ \E k \in Slots : Spawn(k) \/ Claim(k) \/ End(k) \/ Finish(k)
  \/ Tick \/ Crash \/ Restart

Spec ==
  /\ Init /\ [][Next]_vars
  /\ \A i \in Ids : WF_vars(SetJob(i))
  /\ \A i \in Ids : WF_vars(Start(i))
  /\ \A i \in Ids : WF_vars(Sched(i))
  /\ \A i \in Ids : WF_vars(Record(i) \/ Skip(i))
  /\ \A i \in Ids : WF_vars(Exec(i))
  /\ \A k \in Slots : WF_vars(Spawn(k))
  /\ \A k \in Slots : WF_vars(Claim(k))
  /\ \A k \in Slots : WF_vars(End(k))
  /\ \A k \in Slots : WF_vars(Finish(k))
  /\ WF_vars(Tick)
  /\ WF_vars(Restart)

(* ------------------------------- properties ------------------------------ *)

TypeOK ==
  /\ \A i \in Ids : /\ crontab[i].time \in Times \union {0}
                    /\ crontab[i].prog \in PROGS \/ crontab[i].prog = nullp
                    /\ crontab[i].status \in {"none", "set", "no", "yes", "run"}
                    /\ crontab[i].armed \in BOOLEAN
                    /\ since[i] = 0 \/ since[i] \in 1..(crontab[i].time - 1)
                    /\ pending[i] \in 0..Missed
  /\ \A k \in Slots : /\ slots[k].file \in {"absent", "locked", "ended"}
                      /\ slots[k].spawned \in BOOLEAN
                      /\ slots[k].runners \in 0..(Crashes + 1)
  /\ up \in BOOLEAN
  /\ crashed \in 0..Crashes

BoundedPrograms == Cardinality(Launched) <= MAXAPROGS

\* Where a firing can be before its program starts.
Owed(i) ==
  pending[i] + Cardinality({n \in 1..Len(due) : due[n].job = i})
             + Cardinality({k \in LaunchedOf(i) : slots[k].file = "absent"})

NoRunLost == \A i \in Ids : open[i] <= Owed(i)

NoRunTwice ==
  /\ \A i \in Ids : open[i] >= Owed(i)
  /\ \A k \in Slots : slots[k].starts <= IF slots[k].file = "absent" THEN 0 ELSE 1

\* Those ahead of a firing when it comes due, at most one a job, and those that may pass it. With
\* one slot nobody passes: who waits for the own job waits for the only slot.
Bound == Cardinality(Ids) - 1
         + IF Overlap = "queue" /\ MAXAPROGS > 1 /\ Cardinality(Ids) > 1 THEN Passes ELSE 0

BoundedOvertaking == \A n \in 1..Len(due) : due[n].others <= Bound

\* The bound is exact: one less does not hold.
TighterOvertaking == Ask = "TighterOvertaking" => \A n \in 1..Len(due) : due[n].others < Bound

NoOverlap == Overlap # "allow" => \A i \in Ids : Cardinality(LaunchedOf(i)) <= 1

TimerRunsIffArmed == \A i \in Ids : crontab[i].armed <=> (crontab[i].status = "yes")

NotEarly == \A i \in Ids : crontab[i].status = "run" => pending[i] > 0

RemovedIsGone == \A i \in Ids : crontab[i].status = "none" => (pending[i] = 0 /\ ~Waits(i))

AddedRuns == \A i \in Ids : (crontab[i].status = "set") ~> (crontab[i].status \in {"run", "none"})
ArmedRuns == \A i \in Ids : (crontab[i].status = "yes") ~> (crontab[i].status \in {"run", "none"})
Rearmed == \A i \in Ids : (crontab[i].status = "no") ~> (crontab[i].status \in {"yes", "none"})
InstantsRecorded == \A i \in Ids : (pending[i] > 0) ~> (pending[i] = 0)
DueRuns == \A i \in Ids : Waits(i) ~> ~Waits(i)
Unstarted(k) == slots[k].job # nobody /\ slots[k].file = "absent"
LaunchedStarts == \A k \in Slots : Unstarted(k) ~> ~Unstarted(k)
RunsAreOver == \A k \in Slots : (slots[k].job # nobody) ~> (slots[k].job = nobody)
=============================================================================
