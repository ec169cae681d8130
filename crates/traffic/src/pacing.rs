//! Pacing by the sender: bursts at absolute times, by sleeping and a bounded spin at the end.
//!
//! A sleep costs microseconds of CPU, on some virtual machines twenty, so at high rates the messages
//! of [`QUANTUM_NS`] or a few times that, by what a sleep costs here, are sent as one burst; the
//! size of bursts is recorded. The clock is read once a burst. The program's
//! work on the messages of a burst is done just before it, in time that would be slept: so it
//! changes neither the times at which they are sent nor when their acknowledgements are handled.

use std::hint::spin_loop;

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use bitcost_model::conditions::{self, Conditions, RateOf};
use bitcost_model::record::{InEffect, PATH_MTU, Pacing};
use bitcost_sys::clock::{monotonic_ns, sleep_until, thread_cpu_ns};

use bitcost_sys::path_mtu;
use bitcost_sys::socket::{self, IP_MTU, IPV6_MTU};
use rustix::net::{AddressFamily, getpeername, getsockname};

use crate::control::{Control, Phase};
use crate::flow::TrafficError;
use crate::work::Work;

/// The messages of this time, in ns, or of its double, are one burst, unless the run requests a
/// number.
const QUANTUM_NS: f64 = 100_000.0;

const DOUBLINGS_MAX: u32 = 3;

/// The share of a burst's interval that a sleep may cost: where it costs more, the time is doubled.
const SLEEP_SHARE: f64 = 0.08;

/// Most messages, and most bytes, of a burst of a doubled time: that many fit a socket's default
/// receive buffer.
const DOUBLED_MESSAGES_MAX: u64 = 64;
const DOUBLED_BYTES_MAX: u64 = 64 << 10;

/// Sleeps that are made to learn what one costs, and the length of each, in ns.
const TRIALS: usize = 15;
const TRIAL_NS: u64 = 50_000;

/// The largest share of a burst's interval that may be spent spinning.
const SPIN_SHARE: f64 = 0.02;

const SPIN_NS_MAX: f64 = 20_000.0;

/// Longest sleep without a check whether the run is over, in ns.
const LOOK_NS: u64 = 20_000_000;

pub struct Pacer {
    interval_ns: f64,
    burst: u64,
    spin_ns: u64,
    begin_ns: Option<u64>,
    sent: u64,
    left_of_burst: u64,
    work: Option<Work>,
    /// The time of all that work, which is in `record.cpu_ns`.
    worked_ns: u64,
    record: Pacing,
}

impl Pacer {
    /// The pacer of a run; absent where the run is not paced by its sender.
    pub fn of(conditions: &Conditions, socket: impl AsFd) -> Option<Pacer> {
        Pacer::over(conditions, path_mtu_bytes(socket))
    }

    fn over(conditions: &Conditions, path_mtu_bytes: Option<u32>) -> Option<Pacer> {
        let interval_ns = 1e9 / conditions.paced_messages_per_second(path_mtu_bytes)?;
        let size = u64::from(conditions.message_size_bytes);
        let burst = conditions.burst_messages.map_or_else(
            || burst_messages(interval_ns, size, sleep_cost_ns),
            u64::from,
        );
        let burst_ns = interval_ns * burst as f64;
        Some(Pacer {
            interval_ns,
            burst,
            spin_ns: (burst_ns * SPIN_SHARE).min(SPIN_NS_MAX) as u64,
            begin_ns: None,
            sent: 0,
            left_of_burst: 0,
            work: Work::of(conditions.buffers.send_work_ns),
            worked_ns: 0,
            record: Pacing {
                burst_messages: burst,
                ..Pacing::default()
            },
        })
    }

    /// Waits until the next message is due, or the run is over.
    #[inline]
    pub fn wait(&mut self, control: &Control) {
        self.wait_for(control, 1);
    }

    /// Waits until the next message is due, or the run is over; returns how many may be sent at
    /// once.
    #[inline]
    pub fn wait_for(&mut self, control: &Control, most: u64) -> u64 {
        if self.left_of_burst == 0 {
            self.wait_for_burst(control);
        }
        let count = most.min(self.left_of_burst);
        self.left_of_burst -= count;
        self.sent += count;
        count
    }

    /// Counts messages as not sent: they are due at once.
    #[inline]
    pub fn give_back(&mut self, messages: u64) {
        self.left_of_burst += messages;
        self.sent -= messages;
    }

    fn wait_for_burst(&mut self, control: &Control) {
        let cpu_before_ns = thread_cpu_ns();
        let begin_ns = *self.begin_ns.get_or_insert_with(begin);
        let due_ns = begin_ns + (self.sent as f64 * self.interval_ns) as u64;
        let work_ns = (self.work.as_ref()).map_or(0, |work| work.time_ns(self.burst));
        sleep(due_ns.saturating_sub(self.spin_ns + work_ns), control);
        self.worked_ns += self.work_on_burst(control);
        spin(due_ns, control);
        self.record.bursts += 1;
        self.left_of_burst = self.burst;
        self.record.cpu_ns += thread_cpu_ns().saturating_sub(cpu_before_ns);
    }

    /// Works on the messages of the next burst, unless the run is over; returns the time of the work.
    fn work_on_burst(&mut self, control: &Control) -> u64 {
        let Some(work) = &mut self.work else { return 0 };
        if control.phase() as u8 >= Phase::Over as u8 {
            return 0;
        }
        work.on_messages(self.burst);
        work.time_ns(self.burst)
    }

    pub fn record(&self) -> Pacing {
        let elapsed_ns = self
            .begin_ns
            .map_or(0, |begin_ns| monotonic_ns() - begin_ns);
        Pacing {
            elapsed_ns,
            cpu_ns: self.record.cpu_ns.saturating_sub(self.worked_ns),
            ..self.record
        }
    }
}

/// The messages of one burst, where the run does not request a number.
fn burst_messages(interval_ns: f64, size: u64, sleep_cost_ns: impl Fn() -> u64) -> u64 {
    let of = |ns: f64| (ns / interval_ns).round().max(1.0) as u64;
    let (mut quantum_ns, mut burst) = (QUANTUM_NS, of(QUANTUM_NS));
    for _ in 0..DOUBLINGS_MAX {
        let doubled = of(2.0 * quantum_ns);
        let is_too_large = doubled > DOUBLED_MESSAGES_MAX || doubled * size > DOUBLED_BYTES_MAX;
        if doubled == 1 || is_too_large || sleep_cost_ns() as f64 <= quantum_ns * SLEEP_SHARE {
            break;
        }
        (quantum_ns, burst) = (2.0 * quantum_ns, doubled);
    }
    burst
}

/// CPU time of a short sleep on this machine, in ns: the median of a few, made once in a process.
fn sleep_cost_ns() -> u64 {
    static COST_NS: OnceLock<u64> = OnceLock::new();
    *COST_NS.get_or_init(|| {
        let mut costs: Vec<u64> = (0..TRIALS)
            .map(|_| {
                let before_ns = thread_cpu_ns();
                sleep_until(monotonic_ns() + TRIAL_NS);
                thread_cpu_ns().saturating_sub(before_ns)
            })
            .collect();
        costs.sort_unstable();
        costs[TRIALS / 2]
    })
}

/// Sleeps until `until_ns`, or the run is over.
pub fn sleep(until_ns: u64, control: &Control) {
    let mut now_ns = monotonic_ns();
    while now_ns < until_ns && (control.phase() as u8) < Phase::Over as u8 {
        sleep_until(until_ns.min(now_ns + LOOK_NS));
        let woken_ns = monotonic_ns();
        control.count_sleep(woken_ns - now_ns);
        now_ns = woken_ns;
    }
}

/// Spins until `due_ns`; false where the run is over before.
pub fn spin(due_ns: u64, control: &Control) -> bool {
    while monotonic_ns() < due_ns {
        if control.phase() as u8 >= Phase::Over as u8 {
            return false;
        }
        spin_loop();
    }
    true
}

/// Returns the time of the first message. Where the timer slack cannot be reduced, bursts are late.
pub fn begin() -> u64 {
    let _ = bitcost_sys::thread::minimize_timer_slack();
    monotonic_ns()
}

/// The MTU of the path to the peer of a connected socket, as the kernel knows it.
pub fn path_mtu_bytes(socket: impl AsFd) -> Option<u32> {
    let is_ipv6 = getsockname(&socket).ok()?.address_family() == AddressFamily::INET6;
    let option = if is_ipv6 { IPV6_MTU } else { IP_MTU };
    u32::try_from(socket::get_int(socket, option).ok()?).ok()
}

/// The hop that gives the path to the peer of a connected socket this MTU, where it says so when a larger packet comes.
pub fn narrow_hop(socket: impl AsFd, path_mtu_bytes: u32) -> Option<IpAddr> {
    let peer = SocketAddr::try_from(getpeername(socket).ok()??).ok()?;
    path_mtu::narrow_hop(peer.ip(), path_mtu_bytes + 1).ok()?
}

/// Sets the kernel's pacing rate, where the run requests it, and reads it back. Where the rate
/// counts headers, the MTU of the path, which decides how many there are, is reported.
pub fn apply(socket: impl AsFd, conditions: &Conditions) -> Result<Vec<InEffect>, TrafficError> {
    let mtu_bytes = path_mtu_bytes(&socket);
    let Some(messages) = conditions.asked_messages_per_second(mtu_bytes) else {
        return Ok(Vec::new());
    };
    let mut in_effect = Vec::new();
    // That of datagrams is reported when they have found it.
    if conditions.rate_of == RateOf::Wire && !conditions.workload.is_datagram() {
        in_effect.push(InEffect::found(PATH_MTU, mtu_bytes));
    }
    if conditions.pacing != conditions::Pacing::Kernel {
        return Ok(in_effect);
    }
    // fq counts the packet with its headers, TCP's own pacing only the user data.
    let bytes = if conditions.workload.is_datagram() {
        conditions.wire_bytes(mtu_bytes.unwrap_or(u32::MAX))
    } else {
        conditions.message_size_bytes
    };
    let asked = (messages * f64::from(bytes)).round() as u64;
    socket::set_max_pacing_rate(socket.as_fd(), asked).map_err(TrafficError::system(format!(
        "SO_MAX_PACING_RATE of {asked} bytes/s"
    )))?;
    let actual = socket::max_pacing_rate(socket).ok().flatten();
    let name = "max_pacing_rate_bytes_per_second";
    in_effect.push(InEffect::new(name, Some(asked), actual));
    Ok(in_effect)
}

#[cfg(test)]
mod tests {
    use bitcost_model::buffers::Buffers;

    use super::*;

    #[test]
    fn pacer_sends_no_message_early() {
        for send_work_ns in [0, 2000] {
            let conditions = Conditions {
                message_rate: Some(20_000),
                buffers: Buffers {
                    send_work_ns,
                    ..Buffers::default()
                },
                ..Conditions::default()
            };
            let mut pacer = Pacer::over(&conditions, None).expect("paced");
            let control = Control::default();
            let begin_ns = monotonic_ns();
            for number in 0..960u64 {
                pacer.wait(&control);
                let burst = number / pacer.burst * pacer.burst;
                assert!(monotonic_ns() >= begin_ns + burst * 50_000);
            }
            assert_eq!(pacer.record().bursts, 960 / pacer.burst);
        }
    }

    #[test]
    fn pacer_does_not_sleep_once_the_run_is_over() {
        let conditions = Conditions {
            message_rate: Some(1),
            ..Conditions::default()
        };
        let mut pacer = Pacer::over(&conditions, None).expect("paced");
        let control = Control::default();
        pacer.wait(&control);
        control.enter(Phase::Over);
        pacer.wait(&control);
        assert_eq!(control.counts().total().sleeps, 0);
    }

    #[test]
    fn bursts_are_larger_where_sleeps_are_dear() {
        // 1 Gbit/s in messages of 1024 bytes.
        let of = |cost_ns| burst_messages(8192.0, 1024, move || cost_ns);
        assert_eq!([4000, 8000].map(of), [12; 2]);
        assert_eq!([13_000, 20_000].map(of), [24, 49]);
        // 98 messages are too many.
        assert_eq!(of(60_000), 49);
        // Large messages, and messages that are far apart, stay as they are.
        assert_eq!(burst_messages(52_000.0, 65_507, || 20_000), 2);
        assert_eq!(burst_messages(1e7, 64, || 20_000), 1);
    }
}
