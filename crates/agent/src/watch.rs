//! The traffic's thread, and the thread that marks the window's edges and samples the counters.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use model::record::{Role, Sample};
use sys::clock::{monotonic_ns, sleep_until};
use traffic::{Control, Flow, Phase};
use wire::{FromAgent, Prepare, Start};

use crate::outbox::Outbox;
use crate::sampler::Sampler;

/// Time between samples, in ns.
const CADENCE_NS: u64 = 100_000_000;

/// One in this many samples is told to the controller while the run goes on.
const TELL_EVERY: usize = 5;

/// How long after the window a loop may take to come to its end.
const LAST_WORDS: Duration = Duration::from_secs(6);

/// What the watching thread saw.
pub struct Watched {
    pub window_begin_ns: u64,
    pub window_end_ns: u64,
    pub samples: Vec<Sample>,
    pub pinned_cpus: Vec<u32>,
}

/// The traffic in its own thread.
pub struct Traffic {
    control: Arc<Control>,
    began: Receiver<Began>,
    ended: Receiver<Ended>,
}

struct Began {
    thread_id: i32,
    pinned_cpus: Vec<u32>,
}

type Ended = Result<Box<dyn Flow>, String>;

impl Traffic {
    /// Starts the thread; it sends its first message at `begin_ns`.
    pub fn spawn(mut flow: Box<dyn Flow>, control: Arc<Control>, cpus: Vec<u32>, begin_ns: u64) -> Traffic {
        let (began_out, began) = mpsc::channel();
        let (ended_out, ended) = mpsc::channel();
        let shared = control.clone();
        std::thread::spawn(move || {
            let pinned_cpus = match pin(&cpus) {
                Ok(pinned) => pinned,
                Err(reason) => {
                    let _ = ended_out.send(Err(reason));
                    return;
                }
            };
            let _ = began_out.send(Began { thread_id: sys::thread::thread_id(), pinned_cpus });
            sleep_until(begin_ns);
            let result = flow.run(&shared).map(|()| flow).map_err(|error| error.to_string());
            let _ = ended_out.send(result);
        });
        Traffic { control, began, ended }
    }

    /// Marks the window's edges at their times and samples the counters between them.
    ///
    /// # Errors
    /// Why the traffic ended before the window did.
    pub fn watch(&self, start: Start, prepare: &Prepare, outbox: &Outbox) -> Result<Watched, String> {
        let Ok(began) = self.began.recv() else { return Err(self.early_end()) };
        let mut sampler = Sampler::open(&prepare.device, began.thread_id);
        self.wait_until(start.window_begin_ns)?;
        self.control.enter(Phase::Measured);
        let mut samples = vec![sampler.read(self.control.counts().total())];
        let window_begin_ns = samples[0].at_ns;
        outbox.send(&FromAgent::Progress(samples[0].clone()));
        let mut next_ns = window_begin_ns + CADENCE_NS;
        while next_ns < start.window_end_ns {
            self.wait_until(next_ns)?;
            samples.push(sampler.read(self.control.counts().total()));
            if samples.len() % TELL_EVERY == 1
                && let Some(sample) = samples.last()
            {
                outbox.send(&FromAgent::Progress(sample.clone()));
            }
            next_ns += CADENCE_NS;
        }
        self.wait_until(start.window_end_ns)?;
        self.control.enter(Phase::Cooldown);
        let last = sampler.read(self.control.counts().total());
        let window_end_ns = last.at_ns;
        outbox.send(&FromAgent::Progress(last.clone()));
        samples.push(last);
        if prepare.role == Role::Sender {
            self.wait_until(start.stop_ns)?;
            self.control.enter(Phase::Over);
        }
        Ok(Watched { window_begin_ns, window_end_ns, samples, pinned_cpus: began.pinned_cpus })
    }

    /// Waits, unless the traffic ends first.
    fn wait_until(&self, at_ns: u64) -> Result<(), String> {
        let left = Duration::from_nanos(at_ns.saturating_sub(monotonic_ns()));
        match self.ended.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Ok(Err(reason)) => Err(reason),
            Ok(Ok(_)) => Err("the traffic ended before the measured window did: the other end stopped".into()),
            Err(RecvTimeoutError::Disconnected) => Err("the traffic's thread died".into()),
        }
    }

    fn early_end(&self) -> String {
        match self.ended.recv() {
            Ok(Err(reason)) => reason,
            _ => "the traffic's thread died".into(),
        }
    }

    /// Waits for the loop to come to its end.
    ///
    /// # Errors
    /// Why it failed, or that it did not end.
    pub fn join(self) -> Ended {
        self.ended.recv_timeout(LAST_WORDS).unwrap_or_else(|_| {
            Err(format!("the traffic did not end within {LAST_WORDS:?} after the window: the other end takes nothing"))
        })
    }
}

fn pin(cpus: &[u32]) -> Result<Vec<u32>, String> {
    if cpus.is_empty() {
        return Ok(Vec::new());
    }
    let pinned = sys::thread::pin_to(cpus).map_err(|error| format!("run on CPUs {cpus:?}: {error}"))?;
    if pinned == cpus {
        Ok(pinned)
    } else {
        Err(format!("asked to run on CPUs {cpus:?}, the kernel allows {pinned:?}"))
    }
}
