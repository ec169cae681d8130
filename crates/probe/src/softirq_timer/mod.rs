//! The time of soft interrupts, by BPF programs at the kernel's trace points `softirq_entry` and
//! `softirq_exit` (kernel doc: trace/tracepoints, bpf), and their number, by `/proc/softirqs`.
//!
//! A program at a trace point makes every soft interrupt longer, so they are attached in short
//! slots with random pauses between. Soft interrupts that begin in a slot are a random sample of
//! all.

mod programs;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::counters::SoftirqTime;
use bitcost_sys::clock::monotonic_ns;

use self::programs::Programs;
use crate::cores;

/// The length of a slot: soft interrupts that begin in it are timed.
const SLOT: Duration = Duration::from_millis(2);
/// The time after a slot in which those that began in it can end.
const TAIL: Duration = Duration::from_millis(2);
/// The shortest pause between slots; the longest is three times as long.
const PAUSE_MS: u64 = 8;

/// Times the soft interrupts of some CPUs in its own thread, until it is dropped.
#[derive(Debug)]
pub struct SoftirqTimer {
    cpus: Vec<u32>,
    programs: Arc<Programs>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SoftirqTimer {
    pub fn start(cpus: &[u32]) -> Result<SoftirqTimer, Unavailable> {
        let say = |error: io::Error| Unavailable(error.to_string());
        let online = cores::of_this_host().online;
        if let Some(cpu) = cpus.iter().find(|cpu| !online.contains(cpu)) {
            return Err(Unavailable(format!("CPU {cpu} is not online")));
        }
        let most = cpus
            .iter()
            .max()
            .ok_or_else(|| Unavailable("no CPU is named".to_owned()))?;
        let programs = Arc::new(Programs::load(*most).map_err(say)?);
        // The kernel may refuse to attach what it has loaded.
        slot(&programs, Duration::ZERO).map_err(say)?;
        let (stop, stopped) = mpsc::channel();
        let used = programs.clone();
        let thread = std::thread::Builder::new().spawn(move || {
            while slot(&used, SLOT).is_ok()
                && stopped.recv_timeout(pause()) == Err(RecvTimeoutError::Timeout)
            {}
        });
        Ok(SoftirqTimer {
            cpus: cpus.to_vec(),
            programs,
            stop: Some(stop),
            thread: Some(
                thread.map_err(|error| Unavailable(format!("start its thread: {error}")))?,
            ),
        })
    }

    /// The soft interrupts of each kind on each of the CPUs, given the text of `/proc/softirqs`.
    pub fn read(&self, text: &str) -> Vec<SoftirqTime> {
        let mut lines = text.lines();
        let heads = lines.next().unwrap_or_default().split_ascii_whitespace();
        let cpus = heads.filter_map(|word| word.strip_prefix("CPU")?.parse::<u32>().ok());
        let cpus: Vec<u32> = cpus.collect();
        let mut found = Vec::new();
        for (kind, line) in (0..).zip(lines) {
            let (name, counts) = line.split_once(':').unwrap_or_default();
            let counts = counts.split_ascii_whitespace().map(str::parse::<u64>);
            let counted = cpus.iter().zip(counts);
            let own = counted.filter(|(cpu, _)| self.cpus.contains(cpu));
            found.extend(own.filter_map(|(cpu, count)| {
                let count = count.ok().filter(|count| *count > 0)?;
                let [timed, sum_ns, squares_ns2] = self.programs.read(*cpu, kind).ok()?;
                Some(SoftirqTime {
                    cpu: *cpu,
                    kind: name.trim().to_owned(),
                    count,
                    timed,
                    sum_ns,
                    squares_ns2,
                })
            }));
        }
        found
    }
}

impl Drop for SoftirqTimer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Attaches the programs for this long. What ends is timed from before the first start until after
/// the last one.
fn slot(programs: &Programs, length: Duration) -> io::Result<()> {
    let end = programs.end.attach(c"softirq_exit")?;
    let first = programs.first.attach(c"softirq_entry")?;
    let start = programs.start.attach(c"softirq_entry")?;
    sleep(length);
    drop(start);
    drop(first);
    sleep(TAIL.min(length));
    drop(end);
    Ok(())
}

/// A random pause: the last digits of the clock are.
fn pause() -> Duration {
    let more = monotonic_ns() % (2 * PAUSE_MS + 1);
    Duration::from_millis(PAUSE_MS + more)
}
