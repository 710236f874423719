/* Seed 000's scheduler once more, for an independent checker: the same states and steps as
 * scheduler.tla with Variant = "as_written", and as `rota check scheduler`.
 *
 *   spin -a -o3 -DTASKS=3 -DWORKERS=1 scheduler.pml && cc -O2 -DNOREDUCE -DSAFETY -o pan pan.c && ./pan
 *
 * specs/spin_check.py compares them. Tasks are numbered by class, so that a batch in ascending order
 * is in the order of the classes. Every d_step is one step of the spec, and no process has a place of
 * its own: the states are those of the variables.
 */
#ifndef TASKS
#define TASKS 3
#endif
#ifndef WORKERS
#define WORKERS 1
#endif

#define NO_TASK 255
#define BIT(t) (1 << (t))

byte wait_set;             /* sets are bits */
byte running;
byte waiting = BIT(TASKS) - 1;
byte length;               /* of the run queue, whose unused places are 0 */
byte run_queue[TASKS];
bool busy[WORKERS];        /* at finish_task */
byte task[WORKERS] = NO_TASK;
hidden byte i;             /* scratch, no part of the state */

active proctype scheduler() {
  do
  :: d_step {
       wait_set != 0 ->
       i = 0;
       do
       :: i < TASKS ->
            if
            :: (waiting & wait_set & BIT(i)) ->
                 run_queue[length] = i;
                 length++;
                 waiting = waiting & ~BIT(i)
            :: else
            fi;
            i++
       :: else -> break
       od
     }
  od
}

active [TASKS] proctype trigger() {
  do
  :: d_step { wait_set = wait_set | BIT(_pid - 1) }
  od
}

#define ME (_pid - 1 - TASKS)

active [WORKERS] proctype worker() {
  do
  :: d_step {
       !busy[ME] && length > 0 ->
       task[ME] = run_queue[0];
       length--;
       i = 0;
       do
       :: i < length -> run_queue[i] = run_queue[i + 1]; i++
       :: else -> break
       od;
       run_queue[length] = 0;
       running = running | BIT(task[ME]);
       busy[ME] = true
     }
  :: d_step {
       busy[ME] ->
       running = running & ~BIT(task[ME]);
       waiting = waiting | BIT(task[ME]);
       busy[ME] = false
     }
  od
}

/* A task that is triggered runs, if every process that can go on for ever does so (pan -a -f); not so
 * without that (pan -a). */
#ifdef LIVENESS
#define is_triggered (wait_set & BIT(LIVENESS))
#define is_running (running & BIT(LIVENESS))
ltl starvation_free { [] (is_triggered -> <> is_running) }
#endif
