// How many steps do the hogs make while a quiet task is ready and does not run?
// The counterpart of fairness.h. All fields are atomics, since a task may not
// share anything else; one worker writes them, so relaxed loads and stores do.

use crate::duel::{wall_now, Trial};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

const HOGS: usize = 10;
const PAIRS: usize = 5;
const ACT_EVERY: u64 = 997;
const SETTLED: u64 = 1000;
const NOT_YET: u64 = u64::MAX;
const PATIENCE: i64 = 2_000_000_000;
const BUDGET: i64 = 3_000_000_000;

struct Meter {
    trial: Mutex<Trial>,
    trials: usize,
    begin: i64,
    steps: AtomicU64,
    waiting: AtomicBool,
    ran_at: AtomicU64,
    ready_at: AtomicU64,
    ready_time: AtomicI64,
    deadline: AtomicI64,
    late_steps: AtomicU64,
    delays: Mutex<Vec<u64>>,
    late_ns: Mutex<Vec<u64>>,
}

impl Meter {
    fn new(t: &Trial) -> Arc<Meter> {
        let mut trial = t.clone();
        trial.start();
        Arc::new(Meter {
            trials: t.n as usize,
            trial: Mutex::new(trial),
            begin: wall_now(),
            steps: AtomicU64::new(0),
            waiting: AtomicBool::new(false),
            ran_at: AtomicU64::new(0),
            ready_at: AtomicU64::new(0),
            ready_time: AtomicI64::new(0),
            deadline: AtomicI64::new(0),
            late_steps: AtomicU64::new(0),
            delays: Mutex::new(Vec::new()),
            late_ns: Mutex::new(Vec::new()),
        })
    }

    fn steps(&self) -> u64 {
        self.steps.load(Relaxed)
    }

    fn step(&self) {
        let s = self.steps() + 1;
        self.steps.store(s, Relaxed);
        if s % 256 == 0 && self.waiting.load(Acquire) && wall_now() - self.ready_time.load(Relaxed) >= PATIENCE {
            if self.deadline.load(Relaxed) != 0 {
                self.starved(self.late_steps.load(Relaxed));
            }
            self.starved(s - self.ready_at.load(Relaxed));
        }
    }

    fn step_after_deadline(&self) {
        self.step();
        let d = self.deadline.load(Relaxed);
        if d != 0 && wall_now() >= d {
            self.late_steps.store(self.late_steps.load(Relaxed) + 1, Relaxed);
        }
    }

    fn act(&self) -> bool {
        if self.steps() % ACT_EVERY != 0 || self.waiting.load(Relaxed) {
            return false;
        }
        self.ready();
        true
    }

    fn ready(&self) {
        self.ready_at.store(self.steps(), Relaxed);
        self.ready_time.store(wall_now(), Relaxed);
        self.waiting.store(true, Release);
    }

    fn more(&self, trials: usize) -> bool {
        trials < self.trials && wall_now() - self.begin < BUDGET
    }

    fn ran(&self) -> bool {
        self.waiting.store(false, Relaxed);
        if self.steps() < SETTLED {
            if wall_now() - self.begin > PATIENCE {
                self.starved(0);
            }
            return true;
        }
        let mut delays = self.delays.lock().unwrap();
        delays.push(self.steps() - self.ready_at.load(Relaxed));
        self.more(delays.len())
    }

    fn wake_from_outside(&self, wake: impl Fn()) {
        std::thread::sleep(Duration::from_micros(1500));
        self.ran_at.store(NOT_YET, Relaxed);
        self.ready();
        wake();
        let woken_at = self.steps();
        while self.ran_at.load(Acquire) == NOT_YET {
            std::thread::sleep(Duration::from_micros(200));
        }
        let delay = self.ran_at.load(Relaxed).saturating_sub(woken_at);
        self.delays.lock().unwrap().push(delay);
        let trials = self.delays.lock().unwrap().len();
        if !self.more(trials) {
            self.finish();
        }
    }

    fn ran_outside(&self) {
        self.waiting.store(false, Relaxed);
        self.ran_at.store(self.steps(), Release);
    }

    fn arm(&self, deadline: i64) {
        self.late_steps.store(0, Relaxed);
        self.ready_time.store(deadline, Relaxed);
        self.deadline.store(deadline, Relaxed);
        self.waiting.store(true, Release);
    }

    fn fired(&self) -> bool {
        self.waiting.store(false, Relaxed);
        let mut delays = self.delays.lock().unwrap();
        delays.push(self.late_steps.load(Relaxed));
        let late = (wall_now() - self.deadline.load(Relaxed)).max(0);
        self.late_ns.lock().unwrap().push(late as u64);
        self.deadline.store(0, Relaxed);
        self.more(delays.len())
    }

    fn starved(&self, steps: u64) -> ! {
        let mut t = self.trial.lock().unwrap();
        t.stop();
        t.extra.push_str(",\"starved\":true");
        t.report("steps_max", steps as f64);
        t.print();
        std::process::exit(0);
    }

    fn finish(&self) -> ! {
        let mut t = self.trial.lock().unwrap();
        t.stop();
        let mut delays = self.delays.lock().unwrap();
        t.answer = delays.len() as i64;
        summary(&mut t, "steps", &mut delays, 1.0);
        let mut late = self.late_ns.lock().unwrap();
        if !late.is_empty() {
            summary(&mut t, "late_us", &mut late, 1000.0);
        }
        t.print();
        std::process::exit(0);
    }
}

fn summary(t: &mut Trial, name: &str, values: &mut [u64], unit: f64) {
    values.sort_unstable();
    let at = |percent: usize| values[(values.len() - 1) * percent / 100] as f64 / unit;
    t.report(&format!("{}_p50", name), at(50));
    t.report(&format!("{}_p99", name), at(99));
    t.report(&format!("{}_max", name), at(100));
}

// Runs `main` as a spawned task; it starts the hogs from inside and never ends.
fn run<F>(t: &Trial, main: F)
where
    F: std::future::Future<Output = ()> + Send + 'static,
{
    let mut one = t.clone();
    one.workers = 1;
    crate::run(&one, async move {
        main.await;
        std::future::pending::<()>().await;
    });
}

fn start_hogs(step: impl Fn() + Send + Clone + 'static) {
    for _ in 0..HOGS {
        let step = step.clone();
        tokio::spawn(async move {
            loop {
                step();
                tokio::task::yield_now().await;
            }
        });
    }
}

async fn quiet_yields(m: Arc<Meter>) {
    loop {
        m.ready();
        tokio::task::yield_now().await;
        if !m.ran() {
            m.finish();
        }
    }
}

pub fn run_hogs_yield(t: &mut Trial) {
    let m = Meter::new(t);
    run(t, async move {
        let hog = m.clone();
        start_hogs(move || hog.step());
        quiet_yields(m).await;
    });
}

pub fn run_spawned_by_hog(t: &mut Trial) {
    let m = Meter::new(t);
    run(t, async move {
        start_hogs(move || {
            m.step();
            if m.act() {
                let m = m.clone();
                tokio::spawn(async move {
                    if !m.ran() {
                        m.finish();
                    }
                });
            }
        });
    });
}

pub fn run_woken_by_hog(t: &mut Trial) {
    let m = Meter::new(t);
    run(t, async move {
        let (wake, mut woken) = mpsc::channel::<()>(1);
        let hog = m.clone();
        start_hogs(move || {
            hog.step();
            if hog.act() {
                wake.try_send(()).expect("room for one");
            }
        });
        while woken.recv().await.is_some() {
            if !m.ran() {
                m.finish();
            }
        }
    });
}

pub fn run_other_thread(t: &mut Trial) {
    let m = Meter::new(t);
    run(t, async move {
        let (wake, mut woken) = mpsc::channel::<()>(1);
        let other = m.clone();
        std::thread::spawn(move || loop {
            other.wake_from_outside(|| wake.blocking_send(()).expect("a receiver"));
        });
        let hog = m.clone();
        start_hogs(move || hog.step());
        while woken.recv().await.is_some() {
            m.ran_outside();
        }
    });
}

pub fn run_pingpong_pairs(t: &mut Trial) {
    let m = Meter::new(t);
    run(t, async move {
        for _ in 0..PAIRS {
            let (there, mut at_there) = mpsc::channel::<()>(1);
            let (back, mut at_back) = mpsc::channel::<()>(1);
            there.try_send(()).expect("room for one");
            let (a, b) = (m.clone(), m.clone());
            tokio::spawn(async move {
                while at_there.recv().await.is_some() {
                    a.step();
                    back.send(()).await.expect("a receiver");
                }
            });
            tokio::spawn(async move {
                while at_back.recv().await.is_some() {
                    b.step();
                    there.send(()).await.expect("a receiver");
                }
            });
        }
        quiet_yields(m).await;
    });
}

fn link_of_chain(m: Arc<Meter>) {
    tokio::spawn(async move {
        m.step();
        link_of_chain(m);
    });
}

pub fn run_respawn_chain(t: &mut Trial) {
    let m = Meter::new(t);
    run(t, async move {
        link_of_chain(m.clone());
        quiet_yields(m).await;
    });
}

pub fn run_timer_under_load(t: &mut Trial) {
    let m = Meter::new(t);
    run(t, async move {
        let hog = m.clone();
        start_hogs(move || hog.step_after_deadline());
        loop {
            m.arm(wall_now() + 1_000_000);
            tokio::time::sleep(Duration::from_millis(1)).await;
            if !m.fired() {
                m.finish();
            }
        }
    });
}

pub fn run_dispatch_loop(t: &mut Trial) {
    let m = Meter::new(t);
    run(t, async move {
        let hog = m.clone();
        tokio::spawn(async move {
            let (own, mut out) = mpsc::channel::<()>(1);
            loop {
                hog.step();
                own.send(()).await.expect("a receiver");
                out.recv().await;
            }
        });
        quiet_yields(m).await;
    });
}
