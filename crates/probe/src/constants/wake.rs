//! Wake-ups: the call that wakes a sleeping thread, and the time until that thread runs, on the
//! same and on another CPU, each idle and busy.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::Builder;
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::constants::Constant;
use bitcost_sys::clock::monotonic_ns;
use rustix::event::{EventfdFlags, eventfd};

use super::spread::{self, Found, NOT_KNOWN, ONE_CPU};
use crate::cores::pinned;

/// The time for which a thread on another CPU sleeps before it is woken, in ns: longer than a
/// hypervisor polls for work of an idle CPU (200 µs by default on Linux).
const SLEEP_NS: u64 = 300_000;

/// The longest time to wait for a woken thread, in ns.
const PATIENCE_NS: u64 = 20_000_000;

/// The least priority, for the thread that keeps a CPU busy: the woken thread preempts it.
const NICE_MOST: i32 = 19;

/// A kind of wake-up.
struct Kind {
    call: Constant,
    run: Constant,
    is_same: bool,
    is_busy: bool,
}

const KINDS: [Kind; 4] = [
    Kind {
        call: Constant::WakeSameIdle,
        run: Constant::RunSameIdle,
        is_same: true,
        is_busy: false,
    },
    Kind {
        call: Constant::WakeSameBusy,
        run: Constant::RunSameBusy,
        is_same: true,
        is_busy: true,
    },
    Kind {
        call: Constant::WakeOtherIdle,
        run: Constant::RunOtherIdle,
        is_same: false,
        is_busy: false,
    },
    Kind {
        call: Constant::WakeOtherBusy,
        run: Constant::RunOtherBusy,
        is_same: false,
        is_busy: true,
    },
];

/// Measures each kind for `length`, from the first CPU.
pub fn measure(first: Option<u32>, second: Option<u32>, length: Duration) -> Vec<Found> {
    let mut found = Vec::new();
    for kind in &KINDS {
        let target = if kind.is_same { first } else { second };
        let samples = match (first, target) {
            (Some(waker), Some(target)) => {
                Scene::new().and_then(|scene| scene.play(waker, target, kind, length))
            }
            (None, _) => Err(NOT_KNOWN.to_owned()),
            (_, None) => Err(ONE_CPU.to_owned()),
        };
        let (call, run) = match samples {
            Ok(Samples { call, run }) => (spread::figure(call), spread::figure(run)),
            Err(why) => (Err(why.clone()), Err(why)),
        };
        found.push((kind.call, call));
        found.push((kind.run, run));
    }
    found
}

/// The times of wake-ups, in ns.
#[derive(Default)]
struct Samples {
    /// The call that wakes.
    call: Vec<f64>,
    /// From the start of the call until the thread runs.
    run: Vec<f64>,
}

/// The state that the threads of one measurement share.
struct Scene {
    /// The woken thread sleeps in a read of this.
    wake: OwnedFd,
    /// The waking thread sleeps in a read of this, where both are on one CPU.
    back: OwnedFd,
    /// When the woken thread ran; 0 while it sleeps.
    ran_at_ns: AtomicU64,
    is_over: AtomicBool,
}

/// Ends the other threads of a scene, however the measurement ends.
struct Over<'a>(&'a Scene);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        let _ = signal(&self.0.wake);
    }
}

impl Scene {
    fn new() -> Result<Scene, String> {
        let event = || {
            eventfd(0, EventfdFlags::CLOEXEC).map_err(|error| format!("create an event: {error}"))
        };
        Ok(Scene {
            wake: event()?,
            back: event()?,
            ran_at_ns: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        })
    }

    /// Wakes a thread on one CPU from another thread, again and again.
    fn play(
        &self,
        waker: u32,
        target: u32,
        kind: &Kind,
        length: Duration,
    ) -> Result<Samples, String> {
        let started = |error: std::io::Error| format!("start a thread: {error}");
        std::thread::scope(|scope| {
            let over = Over(self);
            let (ready, is_ready) = mpsc::channel();
            if kind.is_busy {
                let ready = ready.clone();
                let busy = move || {
                    if ready.send(pinned(target)).is_ok() {
                        self.keep_busy();
                    }
                };
                Builder::new().spawn_scoped(scope, busy).map_err(started)?;
            }
            let sleeper = move || {
                if ready.send(pinned(target)).is_ok() {
                    self.sleep(kind.is_same);
                }
            };
            Builder::new()
                .spawn_scoped(scope, sleeper)
                .map_err(started)?;
            is_ready
                .iter()
                .take(1 + usize::from(kind.is_busy))
                .collect::<Result<(), Unavailable>>()?;
            let wakes = || {
                pinned(waker)?;
                Ok(if kind.is_same {
                    self.wake_here(length)
                } else {
                    self.wake_there(length)
                })
            };
            let thread = Builder::new().spawn_scoped(scope, wakes).map_err(started)?;
            let joined = thread.join();
            drop(over);
            joined.unwrap_or_else(|_| Err("its thread ended".to_owned()))
        })
    }

    /// Keeps the CPU busy at the lowest priority. No pause instruction: a hypervisor may take the
    /// CPU from a guest that executes many of them.
    fn keep_busy(&self) {
        let _ = rustix::process::setpriority_process(None, NICE_MOST);
        while !self.is_over.load(Ordering::Relaxed) {
            std::hint::black_box(self);
        }
    }

    /// Sleeps until it is woken, notes the time, and sleeps again.
    fn sleep(&self, answers: bool) {
        while wait(&self.wake).is_ok() && !self.is_over.load(Ordering::Acquire) {
            self.ran_at_ns.store(monotonic_ns(), Ordering::Release);
            if answers && signal(&self.back).is_err() {
                return;
            }
        }
    }

    /// Wakes a thread on another CPU, after it has slept for some time.
    fn wake_there(&self, length: Duration) -> Samples {
        let mut samples = Samples::default();
        let end_ns = monotonic_ns() + length.as_nanos() as u64;
        let spin_until = |done: &dyn Fn(u64) -> bool| while !done(monotonic_ns()) {};
        while monotonic_ns() < end_ns {
            let slept_ns = monotonic_ns() + SLEEP_NS;
            spin_until(&|now| now >= slept_ns);
            self.ran_at_ns.store(0, Ordering::Release);
            let start_ns = monotonic_ns();
            if signal(&self.wake).is_err() {
                break;
            }
            let called_ns = monotonic_ns();
            let ran = || self.ran_at_ns.load(Ordering::Acquire);
            spin_until(&|now| ran() != 0 || now > called_ns + PATIENCE_NS);
            match ran() {
                0 => break,
                ran_ns => samples.push(start_ns, called_ns, ran_ns),
            }
        }
        samples
    }

    /// Wakes a thread on this CPU, which runs as soon as this one sleeps.
    fn wake_here(&self, length: Duration) -> Samples {
        let mut samples = Samples::default();
        let end_ns = monotonic_ns() + length.as_nanos() as u64;
        while monotonic_ns() < end_ns {
            let start_ns = monotonic_ns();
            if signal(&self.wake).is_err() {
                break;
            }
            let called_ns = monotonic_ns();
            if wait(&self.back).is_err() {
                break;
            }
            samples.push(start_ns, called_ns, self.ran_at_ns.load(Ordering::Acquire));
        }
        samples
    }
}

impl Samples {
    /// A call that returned only after the woken thread ran was preempted by it: its time is not
    /// the call's own.
    fn push(&mut self, start_ns: u64, called_ns: u64, ran_ns: u64) {
        self.run.push(ran_ns.saturating_sub(start_ns) as f64);
        if called_ns <= ran_ns {
            self.call.push((called_ns - start_ns) as f64);
        }
    }
}

fn signal(event: &OwnedFd) -> rustix::io::Result<usize> {
    rustix::io::retry_on_intr(|| rustix::io::write(event, &1u64.to_ne_bytes()))
}

fn wait(event: &OwnedFd) -> rustix::io::Result<usize> {
    rustix::io::retry_on_intr(|| rustix::io::read(event, &mut [0u8; 8]))
}
