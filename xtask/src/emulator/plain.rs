//! The rival of the link emulator: the same schedule with one system call per packet received and
//! per packet sent. It sleeps when it has nothing to do.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use bitcost_lab::emulator::{Report, Schedule, Settings, Size};
use bitcost_sys::clock;
use bitcost_sys::packet::{PACKET_MAX_BYTES, PacketSocket};
use bitcost_sys::socket;

/// The requested receive buffer in bytes; the kernel limits that of an ordinary user.
const RECEIVE_BUFFER_BYTES: i32 = 4 << 20;

/// Starts the rival between two devices of the calling thread's network namespace.
pub fn start(devices: [u32; 2], settings: [Settings; 2], seed: u64) -> Result<Arc<Mutex<Report>>> {
    let [first, second] = devices;
    let sockets = [PacketSocket::open(first)?, PacketSocket::open(second)?];
    for socket in &sockets {
        socket::set_int(socket, socket::SO_RCVBUF, RECEIVE_BUFFER_BYTES)?;
    }
    let [there, back] = settings;
    let ways = [Way::new(there, seed, 0), Way::new(back, seed, 1)];
    let report = Arc::<Mutex<Report>>::default();
    let shown = report.clone();
    std::thread::spawn(move || forward(&sockets, ways, &shown));
    Ok(report)
}

/// The most packets that are received before due ones are sent.
const TURN: usize = 64;

/// Time between two reports, as in the link emulator, in ns.
const REPORT_NS: u64 = 10_000_000;

/// One direction, with memory that is reused.
struct Way {
    schedule: Schedule<Vec<u8>>,
    free: Vec<Vec<u8>>,
}

fn forward(
    sockets: &[PacketSocket; 2],
    mut ways: [Way; 2],
    shown: &Mutex<Report>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; PACKET_MAX_BYTES];
    let mut reported_ns = 0;
    loop {
        let mut calls = 0;
        for (from, way) in ways.iter_mut().enumerate() {
            calls += way.receive(&sockets[from], &mut buffer)?;
            calls += way.send(&sockets[1 - from]);
        }
        let now_ns = clock::monotonic_ns();
        if calls == 0 || now_ns >= reported_ns + REPORT_NS {
            reported_ns = now_ns;
            report(&ways, shown);
        }
        if calls == 0 {
            wait(sockets, &ways)?;
        }
    }
}

fn report(ways: &[Way; 2], shown: &Mutex<Report>) {
    let mut report = shown.lock().unwrap_or_else(PoisonError::into_inner);
    for (shown, way) in report.directions.iter_mut().zip(ways) {
        shown.clone_from(way.schedule.counters());
    }
    report.cpu_ns = clock::thread_cpu_ns();
}

impl Way {
    fn new(settings: Settings, seed: u64, number: u64) -> Way {
        Way {
            schedule: Schedule::new(settings, seed, number),
            free: Vec::new(),
        }
    }

    /// Receives the packets that have arrived; returns their number.
    fn receive(&mut self, socket: &PacketSocket, buffer: &mut [u8]) -> std::io::Result<usize> {
        for taken in 0..TURN {
            let Some(length) = socket.receive(buffer)? else {
                return Ok(taken);
            };
            let packet = &buffer[..length];
            let free = &mut self.free;
            self.schedule
                .arrive(clock::monotonic_ns(), Size::of(packet), || {
                    let mut memory = free.pop().unwrap_or_default();
                    memory.extend_from_slice(packet);
                    memory
                });
        }
        Ok(TURN)
    }

    /// Sends the packets that are due; returns their number.
    fn send(&mut self, socket: &PacketSocket) -> usize {
        let mut sent = 0;
        while let Some(mut left) = self.schedule.depart(clock::monotonic_ns()) {
            let is_taken = socket.send(&left.packet).is_ok();
            count(&mut self.schedule, &left, is_taken);
            left.packet.clear();
            self.free.push(left.packet);
            sent += 1;
        }
        sent
    }
}

fn count(
    schedule: &mut Schedule<Vec<u8>>,
    left: &bitcost_lab::emulator::Departure<Vec<u8>>,
    is_taken: bool,
) {
    let counters = schedule.counters_mut();
    if is_taken {
        counters.departed.count(left.size);
        counters
            .lateness
            .record(clock::monotonic_ns().saturating_sub(left.due_ns), 1);
    } else {
        counters.refused.count(left.size);
    }
}

fn wait(sockets: &[PacketSocket; 2], ways: &[Way; 2]) -> std::io::Result<()> {
    let next = ways.iter().filter_map(|way| way.schedule.next_ns()).min();
    let left =
        next.map(|next_ns| Duration::from_nanos(next_ns.saturating_sub(clock::monotonic_ns())));
    bitcost_sys::process::wait_any(&sockets.each_ref().map(AsFd::as_fd), left)
}
