//! `cargo xtask cpu-check`: burners of known duty cycle, compared with their CPU time in the
//! accounts, on both scopes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, bail};
use bitcost_analysis::metrics::{RunView, attribute};
use bitcost_model::conditions::Conditions;
use bitcost_model::record::{EndpointRecord, IdleBaseline, Role, Sample, ThreadKind, ThreadTime};
use bitcost_probe::cpu::{CpuProbe, ticks_per_second};
use bitcost_probe::schedstat::ThreadProbe;
use bitcost_sys::clock::{monotonic_ns, sleep_until};

/// Share of a CPU that the foreign load takes.
const FOREIGN: f64 = 0.2;

/// A burner's period, in ns.
const PERIOD_NS: u64 = 10_000_000;

/// Largest error of a burner's busy time, in per cent: the mean of LIMITER's 28 cases and twice
/// their deviation.
const BURNER_BOUND_PCT: f64 = 0.25 + 2.0 * 0.27;

/// Largest remainder of the foreign load, in per cent of it.
const FOREIGN_BOUND_PCT: f64 = 2.0;

/// How long and how often.
#[derive(clap::Args)]
pub struct Arguments {
    /// Seconds of each stretch
    #[arg(long, default_value_t = 4.0)]
    seconds: f64,
    /// Times that each case is measured; the median is judged
    #[arg(long, default_value_t = 5)]
    repeats: u32,
    /// This case only: a burner's duty in per cent, or `foreign`; may be given again
    #[arg(long)]
    case: Vec<String>,
}

/// The burners' shares of a CPU.
const DUTIES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.95];

/// A thread that works for a share of the elapsed time.
struct Burner {
    id: i32,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Burner {
    fn start(cpu: u32, duty: f64) -> Result<Burner> {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = std::sync::mpsc::channel();
        let over = stop.clone();
        let thread = std::thread::spawn(move || {
            let pinned = bitcost_sys::thread::pin_to(&[cpu])
                .and_then(|_| bitcost_sys::thread::minimize_timer_slack());
            let _ = tell.send(pinned.map(|()| bitcost_sys::thread::thread_id()));
            let mut next_ns = monotonic_ns();
            while !over.load(Relaxed) {
                let woken_ns = monotonic_ns();
                while monotonic_ns() - woken_ns < (PERIOD_NS as f64 * duty) as u64 {
                    std::hint::spin_loop();
                }
                next_ns += PERIOD_NS;
                sleep_until(next_ns);
            }
        });
        Ok(Burner {
            id: told.recv()??,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Prints the results; false when a bound was not kept.
///
/// # Errors
/// When there are no two CPUs.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let cpus = bitcost_sys::thread::allowed_cpus()?;
    let [first, second, ..] = cpus[..] else {
        bail!("the check needs two CPUs")
    };
    let length = Duration::from_secs_f64(arguments.seconds);
    let is_asked =
        |name: &str| arguments.case.is_empty() || arguments.case.iter().any(|case| case == name);
    println!(
        "median [least, most] over {} stretches of {length:?}",
        arguments.repeats
    );
    println!("a burner as the only load: error in % of its time");
    println!(
        "{:>6} {:>24} {:>24} {:>24} {:>7}",
        "duty", "thread", "host", "host above idle", "bound"
    );
    let mut kept = true;
    for duty in DUTIES
        .into_iter()
        .filter(|duty| is_asked(&format!("{}", duty * 100.0)))
    {
        let found = (0..arguments.repeats).map(|_| {
            let idle = rest(length);
            let burner = Burner::start(first, duty)?;
            Ok(stretch(length, &burner, &idle))
        });
        let found: Vec<Found> = found.collect::<Result<_>>()?;
        let error = |cpus: fn(&Found) -> f64| {
            Spread::of(found.iter().map(|found| 100.0 * (cpus(found) / duty - 1.0)))
        };
        let (thread, host, above) = (
            error(|f| f.thread),
            error(|f| f.host),
            error(|f| f.above_idle),
        );
        // At a small duty the ticks at the edges of the stretches have more effect than the method.
        let bound =
            BURNER_BOUND_PCT.max(100.0 * edge_error(&cpus, length, arguments.repeats) / duty);
        let is_kept = thread.middle.abs() <= BURNER_BOUND_PCT && above.middle.abs() <= bound;
        kept &= is_kept;
        let [thread, host, above] = [thread, host, above].map(|spread| spread.shown());
        println!(
            "{:>4} % {thread:>24} {host:>24} {above:>24} {bound:>7.2}  {}",
            duty * 100.0,
            word(is_kept)
        );
    }
    if is_asked("foreign") {
        let left = (0..arguments.repeats).map(|_| {
            let _foreign = Burner::start(second, FOREIGN)?;
            let idle = rest(length);
            let burner = Burner::start(first, 0.5)?;
            let found = stretch(length, &burner, &idle);
            Ok(100.0 * (found.above_idle - found.thread) / FOREIGN)
        });
        let left = Spread::of(left.collect::<Result<Vec<f64>>>()?.into_iter());
        let is_kept = left.middle.abs() <= FOREIGN_BOUND_PCT;
        kept &= is_kept;
        println!(
            "a steady foreign load of 20 % of one CPU next to a burner of 50 %: {} % of it left, bound {FOREIGN_BOUND_PCT}  {}",
            left.shown(),
            word(is_kept)
        );
    }
    Ok(kept)
}

/// Several figures of the same thing.
struct Spread {
    least: f64,
    middle: f64,
    most: f64,
}

impl Spread {
    fn of(figures: impl Iterator<Item = f64>) -> Spread {
        let all: Vec<f64> = figures.collect();
        let middle = bitcost_stats::median(&all).unwrap_or(f64::NAN);
        let fold = |pick: fn(f64, f64) -> f64| all.iter().copied().reduce(pick).unwrap_or(f64::NAN);
        Spread {
            least: fold(f64::min),
            middle,
            most: fold(f64::max),
        }
    }

    fn shown(&self) -> String {
        format!("{:.2} [{:.2}, {:.2}]", self.middle, self.least, self.most)
    }
}

fn word(kept: bool) -> &'static str {
    if kept { "kept" } else { "NOT KEPT" }
}

/// Twice the standard error of a mean, in CPUs, that ticks of 10 ms make at the edges of a stretch
/// and of its baseline.
fn edge_error(cpus: &[u32], length: Duration, repeats: u32) -> f64 {
    let tick = 1.0 / ticks_per_second() as f64;
    2.0 * tick / 6f64.sqrt() * (2.0 * cpus.len() as f64 / f64::from(repeats)).sqrt()
        / length.as_secs_f64()
}

/// CPU seconds per second.
struct Found {
    thread: f64,
    host: f64,
    above_idle: f64,
}

fn rest(length: Duration) -> IdleBaseline {
    let mut cpus = CpuProbe::open();
    let (start_ns, start) = (monotonic_ns(), cpus.read());
    std::thread::sleep(length);
    let (end_ns, end) = (monotonic_ns(), cpus.read());
    IdleBaseline {
        start_ns,
        end_ns,
        start,
        end,
    }
}

/// The records of a run in which the burner is the traffic thread on a separate host.
fn stretch(length: Duration, burner: &Burner, idle: &IdleBaseline) -> Found {
    let mut cpus = CpuProbe::open();
    let mut read = || {
        let at_ns = monotonic_ns();
        let threads = thread_time(burner.id).into_iter().collect();
        Sample {
            at_ns,
            cpus: cpus.read(),
            threads,
            ..Sample::default()
        }
    };
    let first = read();
    std::thread::sleep(length);
    let last = read();
    let run_ns = |sample: &Sample| {
        sample
            .threads
            .iter()
            .map(|thread| thread.run_ns)
            .sum::<u64>()
    };
    let seconds = (last.at_ns - first.at_ns) as f64 / 1e9;
    let thread = (run_ns(&last) - run_ns(&first)) as f64 / 1e9 / seconds;
    let record = |idle| record(vec![first.clone(), last.clone()], idle);
    let of = |record: &EndpointRecord| {
        let conditions = Conditions::default();
        let view = RunView {
            sender: record,
            receiver: record,
            conditions: &conditions,
            shared_cpus: false,
            napi_threaded: false,
            capacity_mbps: None,
        };
        attribute(&view)
            .ok()
            .and_then(|attribution| attribution.sender)
            .map_or(f64::NAN, |sender| sender.cpus)
    };
    Found {
        thread,
        host: of(&record(None)),
        above_idle: of(&record(Some(idle.clone()))),
    }
}

fn thread_time(id: i32) -> Option<ThreadTime> {
    let path = format!("/proc/self/task/{id}/schedstat");
    let time = ThreadProbe::open(ThreadKind::Traffic, path.as_ref()).read()?;
    Some(ThreadTime {
        run_ns: bitcost_sys::thread::cpu_time_ns(id).ok()?,
        ..time
    })
}

fn record(samples: Vec<Sample>, idle: Option<IdleBaseline>) -> EndpointRecord {
    EndpointRecord {
        role: Role::Sender,
        window_start_ns: samples[0].at_ns,
        window_end_ns: samples[1].at_ns,
        ticks_per_second: ticks_per_second(),
        samples,
        idle,
        ..EndpointRecord::default()
    }
}
