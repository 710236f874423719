// The arguments, the clocks and the answer of a contestant; see duel.h.

use std::fmt::Write;

fn read_clock(id: libc::clockid_t) -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // Safe: `t` is valid for the call, which only fails for an unknown clock.
    unsafe { libc::clock_gettime(id, &mut t) };
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

// Nanoseconds of the steady clock.
pub fn wall_now() -> i64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

// Nanoseconds of CPU that all threads of this process have used.
pub fn cpu_now() -> i64 {
    read_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

// The same of this thread alone.
pub fn thread_cpu_now() -> i64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

pub fn resident_bytes() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc/self/statm");
    let pages: i64 = text.split(' ').nth(1).expect("a second field").parse().expect("a number");
    // Safe: sysconf has no preconditions.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) }
}

// One run of one scenario.
#[derive(Clone, Default)]
pub struct Trial {
    pub scenario: String,
    pub workers: usize,
    pub n: i64,
    pub flavor: String,
    pub wall: i64,
    pub cpu: i64,
    pub answer: i64,
    pub extra: String,
}

impl Trial {
    pub fn start(&mut self) {
        self.cpu = -cpu_now();
        self.wall = -wall_now();
    }

    pub fn stop(&mut self) {
        self.wall += wall_now();
        self.cpu += cpu_now();
    }

    pub fn report(&mut self, name: &str, value: f64) {
        write!(self.extra, ",\"{}\":{:.3}", name, value).expect("writing to a string");
    }

    pub fn print(&self) {
        println!(
            "{{\"peer\":\"tokio\",\"scenario\":\"{}\",\"workers\":{},\"n\":{},\"ns\":{},\"cpu_ns\":{},\"answer\":{}{}}}",
            self.scenario, self.workers, self.n, self.wall, self.cpu, self.answer, self.extra
        );
    }
}

// Runs what the command line asks for; the exit status of the program.
pub fn run_contestant(scenarios: &[(&str, fn(&mut Trial))]) -> i32 {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.len() == 1 && args[0] == "--list" {
        for (name, _) in scenarios {
            println!("{}", name);
        }
        return 0;
    }
    let mut t = Trial { workers: 1, n: 1000, ..Trial::default() };
    t.scenario = args.get(0).cloned().unwrap_or_default();
    for pair in args.get(1..).unwrap_or_default().chunks(2) {
        match pair {
            [name, value] if name == "--workers" => t.workers = value.parse().expect("a number"),
            [name, value] if name == "--n" => t.n = value.parse().expect("a number"),
            [name, value] if name == "--flavor" => t.flavor = value.clone(),
            _ => {
                eprintln!("usage: SCENARIO [--workers N] [--n N] [--flavor F] | --list");
                return 2;
            }
        }
    }
    for (name, scenario) in scenarios {
        if *name == t.scenario {
            scenario(&mut t);
            t.print();
            return 0;
        }
    }
    eprintln!("tokio: no scenario \"{}\"; --list names them", t.scenario);
    2
}
