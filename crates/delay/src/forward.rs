//! Carries packets between two devices, each direction by its schedule.
//!
//! The line looks at both devices, hands on what is due, and sleeps. While it holds packets it does not wake for each
//! arrival: the kernel stamps arrivals, so they can be taken later, but before the first of them is due. What is due
//! within [`TOGETHER_NS`] of a look departs together.

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sys::clock;
use sys::packet::{BATCH, Outlet};

use crate::counters::Counters;
use crate::inlet::{Inlet, Moment};
use crate::pool::{Pool, Slot};
use crate::schedule::{Departure, Schedule};
use crate::settings::Settings;
use crate::size::Size;

/// Least time from one look to the next while packets are held, in ns: how late a packet may be by design.
pub const TOGETHER_NS: u64 = 50_000;

/// Longest time from one look to the next while packets are held, in ns; the rings have room for more.
const LOOK_NS: u64 = 1_000_000;

/// Time from one report to the next while packets are held, in ns.
const REPORT_NS: u64 = 10_000_000;

/// One of the two devices of a line.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Its number in the calling thread's network namespace.
    pub index: u32,
    /// Its MTU in bytes.
    pub mtu_bytes: u32,
}

/// Counters of a line as others read them while it works.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// From the first device to the second, and back.
    pub directions: [Counters; 2],
    /// CPU time of the line's thread, in ns. What the kernel does for the receivers while the line hands packets on is in it.
    pub cpu_ns: u64,
}

/// What a line shares with others while it works.
#[derive(Debug, Default)]
struct Shared {
    report: Report,
    /// What it is to do from its next look on.
    wish: Option<Wish>,
}

#[derive(Debug)]
struct Wish {
    settings: [Settings; 2],
    seed: u64,
}

/// A hold on a line that works in another thread.
#[derive(Clone, Debug, Default)]
pub struct Handle(Arc<Mutex<Shared>>);

impl Handle {
    /// The counters; they are at most 10 ms old.
    pub fn report(&self) -> Report {
        self.lock().report.clone()
    }

    /// Has the line treat packets in this way from its next look on; those that it holds keep their times. Chance begins
    /// anew: the same seed gives the n-th packet from now on the same fate.
    pub fn set(&self, settings: [Settings; 2], seed: u64) {
        self.lock().wish = Some(Wish { settings, seed });
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One direction.
struct Direction {
    inlet: Inlet,
    schedule: Schedule<Slot>,
    /// On their way out: due, in order.
    leaving: VecDeque<Departure<Slot>>,
    outlet: Outlet,
    /// Whether its arrivals may be due before the next look.
    is_prompt: bool,
}

/// A line between two devices.
pub struct Line {
    directions: [Direction; 2],
    pool: Pool,
    handle: Handle,
    /// When the report was made last.
    reported_ns: u64,
}

impl Line {
    /// Opens both devices. The first of `settings` is the way from the first device to the second.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(devices: [Device; 2], settings: [Settings; 2], seed: u64) -> io::Result<Line> {
        let [first, second] = devices;
        let [there, back] = settings;
        let directions =
            [Direction::open(first, second, there, seed, 0)?, Direction::open(second, first, back, seed, 1)?];
        Ok(Line { directions, pool: Pool::default(), handle: Handle::default(), reported_ns: 0 })
    }

    /// For those who watch or change the line while it works.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Carries packets, and does not return but by an error.
    ///
    /// # Errors
    /// The kernel's; `ENETDOWN` where a device is down or gone.
    pub fn run(self) -> io::Result<()> {
        self.run_watched(|_| {})
    }

    /// As [`Line::run`]. `watch` is shown each report: every 10 ms while packets are
    /// held, and when the line comes to rest.
    ///
    /// # Errors
    /// The kernel's; `ENETDOWN` where a device is down or gone.
    pub fn run_watched(mut self, mut watch: impl FnMut(&Report)) -> io::Result<()> {
        loop {
            let now = Moment::now();
            self.obey();
            for direction in &mut self.directions {
                direction.look(now, &mut self.pool);
                direction.hand_on(&mut self.pool);
            }
            self.publish(now.monotonic_ns, &mut watch)?;
            self.wait(now.monotonic_ns)?;
        }
    }

    fn obey(&mut self) {
        let Some(Wish { settings, seed }) = self.handle.lock().wish.take() else { return };
        for (number, (direction, settings)) in (0..).zip(self.directions.iter_mut().zip(settings)) {
            direction.is_prompt = is_prompt(&settings);
            direction.schedule.set(settings, seed, number);
        }
    }

    /// Reports while it works from time to time, and whenever it comes to rest.
    fn publish(&mut self, now_ns: u64, watch: &mut impl FnMut(&Report)) -> io::Result<()> {
        let is_busy = self.directions.iter().any(|direction| direction.schedule.next_ns().is_some());
        if is_busy && now_ns < self.reported_ns + REPORT_NS {
            return Ok(());
        }
        self.reported_ns = now_ns;
        for direction in &mut self.directions {
            direction.schedule.counters_mut().missed_packets = direction.inlet.missed()?;
        }
        let mut shared = self.handle.lock();
        let report = &mut shared.report;
        for (shown, direction) in report.directions.iter_mut().zip(&self.directions) {
            shown.clone_from(direction.schedule.counters());
        }
        report.cpu_ns = clock::thread_cpu_ns();
        watch(report);
        Ok(())
    }

    /// Sleeps until the next look. Where nothing is held, the first arrival ends the sleep.
    fn wait(&self, looked_ns: u64) -> io::Result<()> {
        let Some(next_ns) = self.directions.iter().filter_map(|direction| direction.schedule.next_ns()).min() else {
            let files: Vec<BorrowedFd<'_>> =
                self.directions.iter().flat_map(|direction| direction.inlet.files()).collect();
            return sys::process::wait_any(&files, None);
        };
        let until_ns = next_ns.min(looked_ns + LOOK_NS);
        let least_ns = looked_ns + TOGETHER_NS;
        let prompt = || self.directions.iter().filter(|direction| direction.is_prompt);
        if prompt().next().is_none() {
            clock::sleep_until(until_ns.max(least_ns));
            return Ok(());
        }
        clock::sleep_until(least_ns);
        let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
        if left_ns == 0 {
            return Ok(());
        }
        let files: Vec<BorrowedFd<'_>> = prompt().flat_map(|direction| direction.inlet.files()).collect();
        sys::process::wait_any(&files, Some(Duration::from_nanos(left_ns)))
    }
}

/// Whether packets may be due before the next look.
fn is_prompt(settings: &Settings) -> bool {
    settings.least_delay_ns() < LOOK_NS
}

impl Direction {
    fn open(from: Device, to: Device, settings: Settings, seed: u64, number: u64) -> io::Result<Direction> {
        Ok(Direction {
            inlet: Inlet::open(from.index, from.mtu_bytes)?,
            is_prompt: is_prompt(&settings),
            schedule: Schedule::new(settings, seed, number),
            leaving: VecDeque::new(),
            outlet: Outlet::open(to.index)?,
        })
    }

    fn look(&mut self, now: Moment, pool: &mut Pool) {
        let schedule = &mut self.schedule;
        self.inlet.drain(now, |at_ns, packet| schedule.arrive(at_ns, Size::of(packet), || pool.copy(packet)));
    }

    /// Hands on what is due, in as few calls as it takes.
    fn hand_on(&mut self, pool: &mut Pool) {
        loop {
            let now_ns = clock::monotonic_ns();
            let room = BATCH - self.leaving.len();
            let schedule = &mut self.schedule;
            self.leaving.extend(std::iter::from_fn(|| schedule.depart(now_ns)).take(room));
            if self.leaving.is_empty() {
                return;
            }
            self.send(now_ns, pool);
        }
    }

    fn send(&mut self, now_ns: u64, pool: &mut Pool) {
        for departure in &self.leaving {
            pool.fetch(&departure.packet);
        }
        let outcome = self.outlet.send(self.leaving.iter().map(|departure| pool.packet(&departure.packet)));
        let (count, is_taken) = match outcome {
            Ok(count) => (count, true),
            Err(_) => (1, false),
        };
        let counters = self.schedule.counters_mut();
        for departure in self.leaving.drain(..count) {
            if is_taken {
                counters.departed.count(departure.size);
                counters.lateness.record(now_ns.saturating_sub(departure.due_ns), 1);
            } else {
                counters.refused.count(departure.size);
            }
            pool.give_back(departure.packet);
        }
    }
}
