//! Forwards packets between two devices, each direction by its schedule.
//!
//! The emulator polls both devices, sends what is due, and sleeps. While it holds packets it does
//! not wake for each arrival: the kernel timestamps arrivals, so they can be read later, but before
//! the first of them is due. Packets that are due within [`TOGETHER_NS`] of a poll depart together.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use bitcost_model::counters::LinkEmulator;
use bitcost_model::shaping::Shaping;
use bitcost_sys::clock;
use bitcost_sys::packet::{BATCH, BatchSender};
use hdrhistogram::Histogram;

use crate::emulator::handle::{Handle, Own};
use crate::emulator::inlet::{Inlet, Moment, rate_by_delay_bytes};
use crate::emulator::pool::{Pool, Slot};
use crate::emulator::schedule::{Departure, Schedule};
use crate::emulator::size::Size;

/// Shortest time between two polls while packets are held, in ns: the lateness by design.
pub const TOGETHER_NS: u64 = 50_000;

/// Longest time between two polls while packets are held, in ns; the rings have room for more.
const POLL_NS: u64 = 1_000_000;

/// The shortest and the longest lateness with a separate bucket, in ns; others are in the first and the last one.
const LATE_NS: (u64, u64) = (1000, 60_000_000_000);
/// Time between two reports while packets are held, in ns.
const REPORT_NS: u64 = 10_000_000;

#[derive(Clone, Copy, Debug)]
pub struct Device {
    /// Its interface index in the calling thread's network namespace.
    pub index: u32,
    pub mtu_bytes: u32,
}

struct Direction {
    inlet: Inlet,
    schedule: Schedule<Slot>,
    /// Packets that are due and about to be sent, in order.
    leaving: VecDeque<Departure<Slot>>,
    batch_sender: BatchSender,
    /// How long after its due time each packet departed, in ns.
    lateness: Histogram<u64>,
    is_prompt: bool,
}

pub struct Emulator {
    directions: [Direction; 2],
    pool: Pool,
    handle: Handle,
    own: Own,
    reported_ns: u64,
}

impl Emulator {
    /// Opens both devices. The first of `shapings` is the direction from the first device to the
    /// second. So many `links` have emulators, and share the memory for rings.
    pub fn open(
        devices: [Device; 2],
        shapings: [Shaping; 2],
        seed: u64,
        links: usize,
    ) -> io::Result<Emulator> {
        let [first, second] = devices;
        let (handle, own) = Handle::new()?;
        let [there, back] = shapings;
        let directions = [
            Direction::open([first, second], there, seed, 0, links)?,
            Direction::open([second, first], back, seed, 1, links)?,
        ];
        Ok(Emulator {
            directions,
            pool: Pool::default(),
            handle,
            own,
            reported_ns: 0,
        })
    }

    /// Whether the machine's memory does not allow rings that have room for the bursts of these
    /// directions.
    pub fn has_short_rings(&self) -> bool {
        self.directions
            .iter()
            .any(|direction| direction.inlet.is_short())
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Forwards packets, and returns only on an error. `watch` gets the counters of both directions, without the names of
    /// their devices: every 10 ms while packets are held, and when none are held any more.
    ///
    /// # Errors
    /// The kernel's; `ENETDOWN` when a device is down or gone.
    pub fn run(mut self, mut watch: impl FnMut([LinkEmulator; 2])) -> io::Result<()> {
        loop {
            let now = Moment::now();
            self.apply_requests();
            for direction in &mut self.directions {
                direction.poll(now, &mut self.pool);
                direction.send_due(&mut self.pool);
            }
            self.publish(now.monotonic_ns, &mut watch)?;
            self.wait(now.monotonic_ns)?;
        }
    }

    fn apply_requests(&mut self) {
        while let Ok((shapings, seed, reply)) = self.own.requests.try_recv() {
            let directions = self.directions.iter_mut().zip(shapings);
            for (number, (direction, shaping)) in (0..).zip(directions) {
                direction.is_prompt = is_prompt(&shaping);
                direction.schedule.set(shaping, seed, number);
            }
            let in_effect = self.directions.each_ref();
            // Who no longer waits needs no answer.
            let _ = reply.send(in_effect.map(|direction| direction.schedule.shaping().clone()));
        }
    }

    /// Reports periodically while packets are held, and when none are held any more.
    fn publish(
        &mut self,
        now_ns: u64,
        watch: &mut impl FnMut([LinkEmulator; 2]),
    ) -> io::Result<()> {
        let is_busy = self
            .directions
            .iter()
            .any(|direction| direction.schedule.next_ns().is_some());
        if is_busy && now_ns < self.reported_ns + REPORT_NS {
            return Ok(());
        }
        self.reported_ns = now_ns;
        for direction in &mut self.directions {
            direction.schedule.counters_mut().missed_packets = direction.inlet.missed()?;
        }
        // Including the kernel's receive work during the emulator's send calls.
        let cpu_ns = clock::thread_cpu_ns();
        watch(self.directions.each_ref().map(|direction| LinkEmulator {
            cpu_ns,
            rate_bps: direction.schedule.shaping().rate_bps,
            late: buckets(&direction.lateness),
            ..direction.schedule.counters().clone()
        }));
        Ok(())
    }

    /// Sleeps until the next poll. If nothing is held, the first arrival or request ends the sleep.
    fn wait(&self, polled_ns: u64) -> io::Result<()> {
        let Some(next_ns) = self
            .directions
            .iter()
            .filter_map(|direction| direction.schedule.next_ns())
            .min()
        else {
            let files: Vec<BorrowedFd<'_>> = self
                .directions
                .iter()
                .flat_map(|direction| direction.inlet.files())
                .chain([self.own.bell.as_fd()])
                .collect();
            bitcost_sys::process::wait_any(&files, None)?;
            // What was requested before it rang is applied at the next poll.
            let _ = (&self.own.bell).read(&mut [0; 64]);
            return Ok(());
        };
        let until_ns = next_ns.min(polled_ns + POLL_NS);
        let least_ns = polled_ns + TOGETHER_NS;
        let prompt = || {
            self.directions
                .iter()
                .filter(|direction| direction.is_prompt)
        };
        if prompt().next().is_none() {
            clock::sleep_until(until_ns.max(least_ns));
            return Ok(());
        }
        clock::sleep_until(least_ns);
        let left_ns = until_ns.saturating_sub(clock::monotonic_ns());
        if left_ns == 0 {
            return Ok(());
        }
        let files: Vec<BorrowedFd<'_>> = prompt()
            .flat_map(|direction| direction.inlet.files())
            .collect();
        bitcost_sys::process::wait_any(&files, Some(Duration::from_nanos(left_ns))).map(drop)
    }
}

/// The bound of each bucket that has packets, in ns, with their number.
fn buckets(lateness: &Histogram<u64>) -> Vec<(u64, u64)> {
    let recorded = lateness.iter_recorded();
    let bucket = recorded.map(|of| (of.value_iterated_to(), of.count_at_value()));
    bucket.collect()
}

/// Whether packets may be due before the next poll.
fn is_prompt(shaping: &Shaping) -> bool {
    let least_us = shaping.delay_us.saturating_sub(shaping.jitter_us);
    shaping.reorder_ppm > 0 || least_us * 1000 < POLL_NS
}

impl Direction {
    fn open(
        [from, to]: [Device; 2],
        shaping: Shaping,
        seed: u64,
        number: u64,
        links: usize,
    ) -> io::Result<Direction> {
        let rate_by_delay = rate_by_delay_bytes(&shaping);
        Ok(Direction {
            inlet: Inlet::open(from.index, from.mtu_bytes, rate_by_delay, links)?,
            is_prompt: is_prompt(&shaping),
            schedule: Schedule::new(shaping, seed, number),
            leaving: VecDeque::new(),
            batch_sender: BatchSender::open(to.index)?,
            lateness: Histogram::new_with_bounds(LATE_NS.0, LATE_NS.1, 1)
                .map_err(io::Error::other)?,
        })
    }

    fn poll(&mut self, now: Moment, pool: &mut Pool) {
        let schedule = &mut self.schedule;
        self.inlet.drain(now, |at_ns, packet| {
            schedule.arrive(at_ns, Size::of(packet), || pool.copy(packet))
        });
    }

    fn send_due(&mut self, pool: &mut Pool) {
        loop {
            let now_ns = clock::monotonic_ns();
            let room = BATCH - self.leaving.len();
            let schedule = &mut self.schedule;
            self.leaving
                .extend(std::iter::from_fn(|| schedule.depart(now_ns)).take(room));
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
        let outcome = self.batch_sender.send(
            self.leaving
                .iter()
                .map(|departure| pool.packet(&departure.packet)),
        );
        let (count, is_taken) = match outcome {
            Ok(count) => (count, true),
            Err(_) => (1, false),
        };
        let counters = self.schedule.counters_mut();
        for departure in self.leaving.drain(..count) {
            if is_taken {
                departure.size.add_to(&mut counters.departed);
                self.lateness
                    .saturating_record(now_ns.saturating_sub(departure.due_ns));
            } else {
                departure.size.add_to(&mut counters.refused);
            }
            pool.give_back(departure.packet);
        }
    }
}
