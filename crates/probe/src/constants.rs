//! The host's constants: what a wake-up of a thread on another CPU and copying a KiB cost here. They are
//! measured in a third of a second, while nothing else of bitcost runs on the machine.

use std::hint::black_box;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use bitcost_model::constants::{HostConstants, WakeUp};
use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::thread::allowed_cpus;
use rustix::event::{EventfdFlags, eventfd};

use crate::cores::{pinned, separate};

/// The time for which copies, and each kind of wake-up, are measured.
const COPIES: Duration = Duration::from_millis(40);
const WAKE_UPS: Duration = Duration::from_millis(150);

/// Bytes of a cached buffer: two of them fit into the caches of one core.
const CACHED: usize = 16 << 10;

/// Copies of a cached buffer in one sample.
const BATCH: usize = 16;

/// What separates the places of source and target within a page, in bytes. Where these places are
/// nearly equal, some CPUs copy at a third of their speed (glibc bug 30994).
const APART: usize = 2048;

/// The time for which a thread sleeps before it is woken, in ns: longer than a hypervisor polls for
/// work of an idle CPU (200 µs by default on Linux).
const SLEEP_NS: u64 = 300_000;

const PATIENCE_NS: u64 = 20_000_000;

/// The least priority, for the thread that keeps a CPU busy: the woken thread preempts it.
const NICE_MOST: i32 = 19;

const SAMPLES_LEAST: usize = 20;

/// Measures on the two CPUs that are named, or on two that this thread may use, on different cores where
/// there are two. What cannot be measured is absent. No other program should run meanwhile.
pub fn measure(cpus: &[u32]) -> HostConstants {
    let (first, second) = match cpus {
        [] => {
            let allowed = allowed_cpus().unwrap_or_default();
            let two = separate(&allowed);
            two.map_or((allowed.first().copied(), None), |(a, b)| {
                (Some(a), Some(b))
            })
        }
        named => (named.first().copied(), named.get(1).copied()),
    };
    // A separate thread keeps the affinity of the caller as it is.
    let copies = alone(|| {
        pinned(first?)?;
        copy_kib_ns(COPIES)
    });
    let wake_up = first.zip(second).and_then(|(waker, target)| {
        let of = |is_busy| {
            Scene::new()?
                .play(waker, target, is_busy)
                .and_then(Samples::medians)
        };
        let both = [of(false), of(true)].into_iter().flatten();
        both.reduce(|a, b| WakeUp {
            call_ns: a.call_ns.min(b.call_ns),
            run_ns: a.run_ns.min(b.run_ns),
        })
    });
    HostConstants {
        wake_up,
        copy_kib_ns: copies,
    }
}

fn alone<T: Send>(measure: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, measure);
        thread.ok()?.join().ok()?
    })
}

/// Copying a KiB by memcpy from one cached buffer to another.
fn copy_kib_ns(length: Duration) -> Option<f64> {
    let mut buffer = vec![1u8; 2 * CACHED + APART];
    let (from, to) = buffer.split_at_mut(CACHED + APART);
    let from = &from[..CACHED];
    let mut samples = Vec::with_capacity(1 << 14);
    let end_ns = monotonic_ns() + length.as_nanos() as u64;
    let mut now_ns = monotonic_ns();
    while now_ns < end_ns {
        let start_ns = now_ns;
        for _ in 0..BATCH {
            to.copy_from_slice(black_box(from));
            black_box(&mut *to);
        }
        now_ns = monotonic_ns();
        samples.push((now_ns - start_ns) as f64 * 1024.0 / (BATCH * CACHED) as f64);
    }
    median(samples)
}

fn median(mut samples: Vec<f64>) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    (samples.len() >= SAMPLES_LEAST).then(|| samples[samples.len() / 2])
}

#[derive(Default)]
struct Samples {
    /// The call that wakes.
    call: Vec<f64>,
    /// From the start of the call until the thread runs.
    run: Vec<f64>,
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

    fn medians(self) -> Option<WakeUp> {
        Some(WakeUp {
            call_ns: median(self.call)?,
            run_ns: median(self.run)?,
        })
    }
}

struct Scene {
    /// The woken thread sleeps in a read of this.
    wake: OwnedFd,
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
    fn new() -> Option<Scene> {
        Some(Scene {
            wake: eventfd(0, EventfdFlags::CLOEXEC).ok()?,
            ran_at_ns: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        })
    }

    /// Wakes a thread on one CPU from a thread on another one, again and again; with `is_busy`, a thread
    /// of the lowest priority always runs on the woken thread's CPU.
    fn play(&self, waker: u32, target: u32, is_busy: bool) -> Option<Samples> {
        std::thread::scope(|scope| {
            let _over = Over(self);
            let (ready, is_ready) = mpsc::channel::<Option<()>>();
            let start = |run: &'static (dyn Fn(&Scene) + Sync)| {
                let ready = ready.clone();
                let thread = move || {
                    let bound = pinned(target);
                    if ready.send(bound).is_ok() && bound.is_some() {
                        run(self);
                    }
                };
                std::thread::Builder::new().spawn_scoped(scope, thread).ok()
            };
            if is_busy {
                start(&Scene::keep_busy)?;
            }
            start(&Scene::sleep)?;
            let others = is_ready.iter().take(1 + usize::from(is_busy));
            others.collect::<Option<()>>()?;
            alone(|| {
                pinned(waker)?;
                Some(self.wake_again_and_again())
            })
        })
    }

    /// Keeps the CPU busy at the lowest priority. No pause instruction: a hypervisor may take the
    /// CPU from a guest that executes many of them.
    fn keep_busy(&self) {
        let _ = rustix::process::setpriority_process(None, NICE_MOST);
        while !self.is_over.load(Ordering::Relaxed) {
            black_box(self);
        }
    }

    fn sleep(&self) {
        let wait = || rustix::io::retry_on_intr(|| rustix::io::read(&self.wake, &mut [0u8; 8]));
        while wait().is_ok() && !self.is_over.load(Ordering::Acquire) {
            self.ran_at_ns.store(monotonic_ns(), Ordering::Release);
        }
    }

    fn wake_again_and_again(&self) -> Samples {
        let mut samples = Samples::default();
        let end_ns = monotonic_ns() + WAKE_UPS.as_nanos() as u64;
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
}

fn signal(event: &OwnedFd) -> rustix::io::Result<usize> {
    rustix::io::retry_on_intr(|| rustix::io::write(event, &1u64.to_ne_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_needs_another_cpu_that_can_be_used() {
        let allowed = allowed_cpus().expect("allowed");
        assert_eq!(measure(&allowed[..1]).wake_up, None);
        assert_eq!(measure(&[allowed[0], 4001]).wake_up, None);
        assert_eq!(measure(&[4000, 4001]), HostConstants::default());
    }
}
