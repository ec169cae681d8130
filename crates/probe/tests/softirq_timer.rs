//! Timing soft interrupts of the running kernel, and what happens where that is not permitted.

use std::fs;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use bitcost_model::counters::SoftirqTime;
use bitcost_probe::softirq_timer::SoftirqTimer;
use bitcost_sys::bpf::{Instruction, Program};
use bitcost_sys::thread::{allowed_cpus, pin_to};

/// The time after which a load must have been timed.
const PATIENCE: Duration = Duration::from_secs(20);

fn main() {
    bitcost_testkit::main(&[TRIALS]);
}

bitcost_testkit::trials! { PrivateNetwork:
    known_load_is_counted_and_timed,
    nothing_is_attached_afterwards,
    cpu_that_does_not_exist_is_refused,
    refused_program_is_an_error;
}

/// A timer of one CPU, to which the caller is pinned.
fn timer() -> (SoftirqTimer, u32) {
    let cpu = allowed_cpus().unwrap()[0];
    match SoftirqTimer::start(&[cpu]) {
        Ok(timer) => {
            pin_to(&[cpu]).unwrap();
            (timer, cpu)
        }
        Err(reason) => {
            bitcost_testkit::ignore(&format!("soft interrupts cannot be timed: {reason}"))
        }
    }
}

fn read(timer: &SoftirqTimer) -> Vec<SoftirqTime> {
    timer.read(&fs::read_to_string("/proc/softirqs").unwrap())
}

fn received(times: &[SoftirqTime]) -> SoftirqTime {
    let mut kinds = times.iter().filter(|time| time.kind == "NET_RX");
    kinds.next().cloned().unwrap_or_default()
}

/// Every datagram over the loopback is received in a soft interrupt on the CPU that sends it.
fn known_load_is_counted_and_timed() {
    let (timer, cpu) = timer();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    let (began, before) = (Instant::now(), read(&timer));
    let (mut sent, mut last) = (0, before.clone());
    while received(&last).timed < received(&before).timed + 1000 {
        assert!(began.elapsed() < PATIENCE, "{last:?}");
        for _ in 0..1000 {
            socket.send_to(&[0; 100], to).unwrap();
            socket.recv(&mut [0; 100]).unwrap();
        }
        sent += 1000;
        let next = read(&timer);
        for time in &next {
            assert_eq!(time.cpu, cpu);
            let Some(earlier) = last.iter().find(|other| other.kind == time.kind) else {
                continue;
            };
            assert!(time.count >= earlier.count, "{earlier:?} {time:?}");
            assert!(time.timed >= earlier.timed, "{earlier:?} {time:?}");
        }
        last = next;
    }
    let wall_ns = began.elapsed().as_nanos() as u64;
    let (was, is) = (received(&before), received(&last));
    assert!(is.count - was.count >= sent, "{sent}: {was:?} {is:?}");
    let share = (is.timed - was.timed) as f64 / (is.count - was.count) as f64;
    assert!((0.9..1.1).contains(&(7.0 * share)), "{share}");
    // One time may be negative, not many of them.
    let sum_ns = is.sum_ns.wrapping_sub(was.sum_ns);
    assert!((1..wall_ns).contains(&sum_ns), "{was:?} {is:?}");
    // The sum of squares is that of the same times: at least the square of their sum ÷ their
    // number.
    let (timed, sum) = ((is.timed - was.timed) as f64, sum_ns as f64);
    assert!((is.squares_ns2 - was.squares_ns2) as f64 >= 0.999 * sum * sum / timed);
    assert!(sum / timed * (is.count - was.count) as f64 <= wall_ns as f64);
}

/// The descriptors of this process that belong to BPF.
fn held() -> usize {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap();
    let paths = descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let of_bpf = paths.filter(|path| path.to_string_lossy().contains("bpf"));
    of_bpf.count()
}

fn nothing_is_attached_afterwards() {
    assert_eq!(held(), 0);
    let (timer, _) = timer();
    assert!(held() >= 4, "a map and three programs: {}", held());
    drop(timer);
    assert_eq!(held(), 0);
}

fn cpu_that_does_not_exist_is_refused() {
    let reason = SoftirqTimer::start(&[1_000_000]).unwrap_err();
    assert_eq!(reason.0, "CPU 1000000 is not online");
}

/// Copies a register that was never written.
fn refused_program_is_an_error() {
    let copy = Instruction::new(0xbf, 0, 6, 0, 0);
    let error = Program::load(&[copy, Instruction::new(0x95, 0, 0, 0, 0)]).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("bpf(BPF_PROG_LOAD): "), "{text}");
}
