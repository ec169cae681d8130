//! The rival: the line's schedule with one system call per packet received, per packet sent, and per wait.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use delay::{Report, Schedule, Settings, Size};
use sys::clock;
use sys::packet::{PACKET_MAX_BYTES, Plain};
use sys::socket;

/// As large as an ordinary user's receive buffer may be, if it may.
const RECEIVE_BUFFER_BYTES: i32 = 4 << 20;

/// Starts the rival between two devices of the calling thread's network namespace.
pub fn start(devices: [u32; 2], settings: [Settings; 2], seed: u64) -> Result<Arc<Mutex<Report>>> {
    let [first, second] = devices;
    let sockets = [Plain::open(first)?, Plain::open(second)?];
    for socket in &sockets {
        socket::set_int(socket, socket::SO_RCVBUF, RECEIVE_BUFFER_BYTES)?;
    }
    let [there, back] = settings;
    let schedules = [Schedule::new(there, seed, 0), Schedule::new(back, seed, 1)];
    let report = Arc::<Mutex<Report>>::default();
    let shown = report.clone();
    std::thread::spawn(move || forward(&sockets, schedules, &shown));
    Ok(report)
}

fn forward(sockets: &[Plain; 2], mut schedules: [Schedule<Vec<u8>>; 2], shown: &Mutex<Report>) -> std::io::Result<()> {
    let mut buffer = vec![0; PACKET_MAX_BYTES];
    loop {
        for (from, schedule) in schedules.iter_mut().enumerate() {
            if let Some(length) = sockets[from].receive(&mut buffer)? {
                let packet = &buffer[..length];
                schedule.arrive(clock::monotonic_ns(), Size::of(packet), || packet.to_vec());
            }
            let now_ns = clock::monotonic_ns();
            if let Some(left) = schedule.depart(now_ns) {
                let is_taken = sockets[1 - from].send(&left.packet).is_ok();
                count(schedule, &left, is_taken, now_ns);
            }
        }
        let mut report = shown.lock().unwrap_or_else(PoisonError::into_inner);
        for (shown, schedule) in report.directions.iter_mut().zip(&schedules) {
            shown.clone_from(schedule.counters());
        }
        report.cpu_ns = clock::thread_cpu_ns();
        drop(report);
        wait(sockets, &schedules)?;
    }
}

fn count(schedule: &mut Schedule<Vec<u8>>, left: &delay::Departure<Vec<u8>>, is_taken: bool, now_ns: u64) {
    let counters = schedule.counters_mut();
    if is_taken {
        counters.departed.count(left.size);
        counters.lateness.record(now_ns.saturating_sub(left.due_ns), 1);
    } else {
        counters.refused.count(left.size);
    }
}

fn wait(sockets: &[Plain; 2], schedules: &[Schedule<Vec<u8>>; 2]) -> std::io::Result<()> {
    let next = schedules.iter().filter_map(Schedule::next_ns).min();
    let left = next.map(|next_ns| Duration::from_nanos(next_ns.saturating_sub(clock::monotonic_ns())));
    sys::process::wait_any(&sockets.each_ref().map(AsFd::as_fd), left)
}
