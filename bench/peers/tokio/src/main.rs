// What do tokio's tasks cost, and how fair are its schedulers? The same scenarios
// and the same protocol as the C++ contestants; see duel.h and fairness.h. The
// flavor is the runtime: "multi" (as many workers as asked for) or "current".

mod duel;
mod fairness;

use duel::{cpu_now, resident_bytes, wall_now, Trial};
use std::future::Future;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, Notify};

const WAVE: i64 = 1000;
const YIELDERS: i64 = 10;
const LONG_TASK: Duration = Duration::from_millis(300);
const SLEEP_REQUEST: Duration = Duration::from_micros(100);

fn runtime(t: &Trial) -> Runtime {
    let mut builder = if t.flavor == "current" {
        Builder::new_current_thread()
    } else {
        let mut b = Builder::new_multi_thread();
        b.worker_threads(t.workers);
        b
    };
    builder.enable_time().build().expect("a runtime")
}

// Runs the main task as a spawned one: what block_on() runs is no worker's.
fn run<F>(t: &Trial, main: F) -> F::Output
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let rt = runtime(t);
    let out = rt.block_on(async { tokio::spawn(main).await.expect("the main task") });
    rt.shutdown_background();
    out
}

// Lets one task wait until `count` others have reported.
struct Latch {
    left: AtomicI64,
    all: Notify,
}

impl Latch {
    fn new(count: i64) -> Arc<Latch> {
        Arc::new(Latch { left: AtomicI64::new(count), all: Notify::new() })
    }
    fn count_down(&self) {
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.all.notify_one();
        }
    }
}

// ---- yield, spawn, join, ping-pong

async fn yield_pass(n: i64) -> i64 {
    let mut all = Vec::new();
    for _ in 0..YIELDERS {
        all.push(tokio::spawn(async move {
            for _ in 0..n / YIELDERS {
                tokio::task::yield_now().await;
            }
            n / YIELDERS
        }));
    }
    let mut steps = 0;
    for handle in all {
        steps += handle.await.expect("a yielder");
    }
    steps
}

async fn spawn_pass(n: i64, size: i64) -> i64 {
    let ran = Arc::new(AtomicI64::new(0));
    let mut i = 0;
    while i < n {
        let latch = Latch::new(size);
        for _ in 0..size {
            let (latch, ran) = (latch.clone(), ran.clone());
            tokio::spawn(async move {
                ran.fetch_add(1, Ordering::Relaxed);
                latch.count_down();
            });
        }
        latch.all.notified().await;
        i += size;
    }
    ran.load(Ordering::Relaxed)
}

async fn join_pass(n: i64) -> i64 {
    let mut sum = 0;
    for i in 0..n {
        sum += tokio::spawn(async move { i }).await.expect("a task");
    }
    sum
}

async fn pong(n: i64, mut there: mpsc::Receiver<i64>, back: mpsc::Sender<i64>) {
    for _ in 0..n {
        let v = there.recv().await.expect("a ping");
        back.send(v + 1).await.expect("a receiver");
    }
}

async fn ping(n: i64, there: &mpsc::Sender<i64>, back: &mut mpsc::Receiver<i64>) -> i64 {
    let mut sum = 0;
    for i in 0..n {
        there.send(i).await.expect("a receiver");
        sum += back.recv().await.expect("a pong") - i;
    }
    sum
}

async fn pingpong_pass(n: i64) -> i64 {
    let (there_in, there_out) = mpsc::channel(1);
    let (back_in, mut back_out) = mpsc::channel(1);
    tokio::spawn(pong(n, there_out, back_in));
    ping(n, &there_in, &mut back_out).await
}

// Runs `pass(warm)`, then measures `pass(n)`.
fn measure<P, F>(t: &mut Trial, warm: i64, pass: P)
where
    P: Fn(i64) -> F + Send + Sync + 'static,
    F: Future<Output = i64> + Send + 'static,
{
    let mut inner = t.clone();
    *t = run(t, async move {
        pass(warm).await;
        inner.start();
        inner.answer = pass(inner.n).await;
        inner.stop();
        inner
    });
}

fn run_yield(t: &mut Trial) {
    measure(t, t.n / 10, yield_pass);
}

fn run_spawn_waves(t: &mut Trial) {
    measure(t, t.n / 10, |n| spawn_pass(n, WAVE));
}

fn run_spawn_burst(t: &mut Trial) {
    measure(t, t.n, |n| spawn_pass(n, n));
}

fn run_spawn_join(t: &mut Trial) {
    measure(t, t.n / 10, join_pass);
}

fn run_pingpong(t: &mut Trial) {
    measure(t, t.n / 10, pingpong_pass);
}

// Two runtimes, each with a thread of its own.
fn run_pingpong_across(t: &mut Trial) {
    let (there_in, there_out) = mpsc::channel(1);
    let (back_in, mut back_out) = mpsc::channel(1);
    let n = t.n;
    let other = std::thread::spawn(move || {
        let rt = Builder::new_current_thread().build().expect("a runtime");
        rt.block_on(pong(n, there_out, back_in));
    });
    let rt = Builder::new_current_thread().build().expect("a runtime");
    t.start();
    t.answer = rt.block_on(ping(n, &there_in, &mut back_out));
    t.stop();
    other.join().expect("the other thread");
}

// ---- timers, sleep, memory, idle

fn run_timers(t: &mut Trial) {
    let mut inner = t.clone();
    *t = run(t, async move {
        let fired = Arc::new(AtomicI64::new(0));
        let n = inner.n;
        let mut all = Vec::with_capacity(n as usize);
        inner.start();
        let begin = Instant::now();
        let cpu0 = cpu_now();
        let armed = Latch::new(n);
        for i in 0..n {
            let due = begin + Duration::from_millis((4000 + (i * 7919) % 1000) as u64);
            let (fired, armed) = (fired.clone(), armed.clone());
            all.push(tokio::spawn(async move {
                let sleep = tokio::time::sleep_until(due.into());
                armed.count_down();
                sleep.await;
                fired.fetch_add(1, Ordering::Relaxed);
            }));
            // Lets the new tasks fall asleep: the timers are the question, not a burst of tasks.
            if i % 128 == 127 {
                tokio::task::yield_now().await;
            }
        }
        armed.all.notified().await;
        let cpu1 = cpu_now();
        for handle in all.iter().step_by(2) {
            handle.abort();
        }
        let cpu2 = cpu_now();
        for handle in all {
            let _ = handle.await; // half of them were aborted
        }
        inner.stop();
        inner.report("set_ns", (cpu1 - cpu0) as f64 / n as f64);
        inner.report("cancel_ns", (cpu2 - cpu1) as f64 / n as f64 * 2.0);
        inner.answer = fired.load(Ordering::Relaxed);
        inner
    });
}

fn run_sleep(t: &mut Trial) {
    let mut inner = t.clone();
    *t = run(t, async move {
        let mut beyond = Vec::new();
        inner.start();
        for _ in 0..inner.n {
            let due = wall_now() + SLEEP_REQUEST.as_nanos() as i64;
            tokio::time::sleep(SLEEP_REQUEST).await;
            beyond.push(wall_now() - due);
        }
        inner.stop();
        beyond.sort_unstable();
        inner.report("p50_us", beyond[(beyond.len() - 1) * 50 / 100] as f64 / 1000.0);
        inner.report("p99_us", beyond[(beyond.len() - 1) * 99 / 100] as f64 / 1000.0);
        inner.answer = beyond.len() as i64;
        inner
    });
}

fn run_parked(t: &mut Trial) {
    let mut inner = t.clone();
    *t = run(t, async move {
        let n = inner.n;
        let event = Arc::new(Notify::new());
        let parked = Arc::new(AtomicI64::new(0));
        let woken = Latch::new(n);
        let before = resident_bytes();
        inner.start();
        for _ in 0..n {
            let (event, parked, woken) = (event.clone(), parked.clone(), woken.clone());
            tokio::spawn(async move {
                let wait = event.notified();
                tokio::pin!(wait);
                wait.as_mut().enable();
                parked.fetch_add(1, Ordering::Relaxed);
                wait.await;
                woken.count_down();
            });
        }
        while parked.load(Ordering::Relaxed) < n {
            tokio::task::yield_now().await;
        }
        inner.stop();
        inner.report("bytes", (resident_bytes() - before) as f64 / n as f64);
        event.notify_waiters();
        woken.all.notified().await;
        inner.answer = n - woken.left.load(Ordering::Relaxed);
        inner
    });
}

fn run_idle_long(t: &mut Trial) {
    let mut inner = t.clone();
    *t = run(t, async move {
        inner.start();
        let own = duel::thread_cpu_now();
        let until = Instant::now() + LONG_TASK;
        while Instant::now() < until {}
        let own = duel::thread_cpu_now() - own;
        inner.stop();
        inner.report("own_ns", own as f64);
        inner
    });
}

fn run_idle_pool(t: &mut Trial) {
    let mut inner = t.clone();
    *t = run(t, async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        inner.start();
        tokio::time::sleep(LONG_TASK).await;
        inner.stop();
        inner
    });
}

fn main() {
    let scenarios: &[(&str, fn(&mut Trial))] = &[
        ("yield", run_yield),
        ("spawn_waves", run_spawn_waves),
        ("spawn_burst", run_spawn_burst),
        ("spawn_join", run_spawn_join),
        ("pingpong", run_pingpong),
        ("pingpong_across", run_pingpong_across),
        ("timers", run_timers),
        ("sleep", run_sleep),
        ("parked", run_parked),
        ("idle_long", run_idle_long),
        ("idle_pool", run_idle_pool),
        ("hogs_yield", fairness::run_hogs_yield),
        ("spawned_by_hog", fairness::run_spawned_by_hog),
        ("woken_by_hog", fairness::run_woken_by_hog),
        ("other_thread", fairness::run_other_thread),
        ("pingpong_pairs", fairness::run_pingpong_pairs),
        ("respawn_chain", fairness::run_respawn_chain),
        ("timer_under_load", fairness::run_timer_under_load),
        ("dispatch_loop", fairness::run_dispatch_loop),
    ];
    std::process::exit(duel::run_contestant(scenarios));
}
