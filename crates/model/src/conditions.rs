//! The conditions of one run: its traffic, the settings of its sockets and hosts, and its length.

mod check;
pub(crate) mod kinds;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::Invalid;
use crate::framing::{Counted, Framing};
use crate::host_settings::{HostSetting, SYSCTL};
use crate::modes::Mode;
use crate::place::IpVersion;
use crate::record::Role;
use crate::settings::SETTINGS;

pub use crate::settings::Conditions;
pub use crate::workload::Workload;
pub use kinds::{
    AUTO_RECEIVE_BYTES, Direction, Mss, OUTAGE_TIMEOUT_MAX_MS, Pacing, RateOf, ReceiveSize,
    STAMPED_BYTES, TCP_TIMESTAMPS, TRANSACTION_MAX, TRANSACTION_RATE_MAX, Waiting,
};

/// The longest time for which the idle hosts are measured before a block, unless a run asks for
/// another.
pub const IDLE_BASELINE_MAX: Duration = Duration::from_secs(1);

/// Time after which an unanswered UDP request is given up.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Time that a run takes in addition to its traffic: settings, connections, a last reading.
pub const RUN_OVERHEAD: Duration = Duration::from_millis(350);

impl Conditions {
    /// The version of IP that headers are counted by: the one asked for, or 4.
    pub fn ip_version(&self) -> IpVersion {
        self.places.asked_version().unwrap_or(IpVersion::V4)
    }

    /// Whether the threads of this end call repeatedly while they wait: a receiver's, and of transactions both ends'.
    pub fn spins(&self, role: Role) -> bool {
        let receives = role == Role::Receiver || self.workload.is_transactional();
        receives && self.waiting == Waiting::Spin
    }

    /// Headers of IP and of the transport without options, in bytes.
    pub fn header_bytes(&self) -> u32 {
        let timestamps = match self.workload.is_datagram() {
            true => 0,
            false => TCP_TIMESTAMPS,
        };
        self.framing(0).packet_header_bytes() - timestamps
    }

    /// How messages are framed on a path of this MTU, by the bytes that queueing disciplines count.
    pub fn framing(&self, mtu_bytes: u32) -> Framing {
        Framing {
            ip: self.ip_version(),
            counted: Counted::Queue,
            ..Framing::new(self.workload.info().transport, mtu_bytes)
        }
    }

    /// The conditions of one workload alone, with messages of a size that it can carry.
    pub fn of(workload: Workload) -> Conditions {
        Conditions {
            workload,
            message_size_bytes: workload.usual_message_bytes(),
            ..Conditions::default()
        }
    }

    /// All parts of the run, each with one direction and without background workloads. The first
    /// part is the run's own workload, the next is its mirror where it goes both ways; the
    /// background workloads follow.
    ///
    /// All parts start and end together, so times and bounds are those of the first part. Parts after a bounded first part have no bound themselves: they end with it.
    /// Where a background part does not name its place, its endpoints have the place of the first
    /// part's endpoints, except for the ports.
    pub fn parts(&self) -> Vec<Conditions> {
        let background = self.background.iter().map(|part| Conditions {
            places: part.places.or(&self.places),
            ..part.clone()
        });
        let mut parts = self.ways();
        parts.extend(background.flat_map(|part| part.ways()));
        for part in parts.iter_mut().skip(1) {
            (part.warmup_ms, part.duration_ms) = (self.warmup_ms, self.duration_ms);
            (part.stop_bytes, part.stop_messages) = (None, None);
        }
        parts
    }

    fn ways(&self) -> Vec<Conditions> {
        let way = |direction| {
            let places = if direction == Direction::Reverse {
                self.places.turned()
            } else {
                self.places.clone()
            };
            Conditions {
                direction,
                background: Vec::new(),
                places,
                ..self.clone()
            }
        };
        match self.direction {
            Direction::Both => vec![way(Direction::Forward), way(Direction::Reverse)],
            direction => vec![way(direction)],
        }
    }

    /// The part in one short phrase, for people: `→ tcp_rr`.
    pub fn phrase(&self) -> String {
        format!("{} {}", self.direction.arrow(), self.workload.name())
    }

    /// What the run requests of the host called `host`.
    pub fn of_host(&self, host: Role) -> impl Iterator<Item = &HostSetting> {
        let requests = self.host_settings.iter();
        let own = requests.filter(move |request| request.is_of(host));
        own.map(|request| &request.setting)
    }

    /// The names of the settings that the run changes at the host of the endpoint with this role, and of the
    /// lab's interfaces there.
    pub fn changed_settings(&self, role: Role) -> BTreeSet<&str> {
        let requested = self.of_host(self.direction.role_of(role));
        let set = SETTINGS.iter().filter(|setting| (setting.is_set)(self));
        let changed = set.filter_map(|setting| setting.changes());
        changed.chain(requested.map(HostSetting::name)).collect()
    }

    /// The MTUs in bytes that the run asks of interfaces.
    pub fn asked_mtus(&self) -> impl Iterator<Item = u32> {
        self.host_settings
            .iter()
            .filter_map(|request| match request.setting {
                HostSetting::Mtu(bytes) => Some(bytes),
                _ => None,
            })
    }

    /// Bytes that a message takes on the wire with the headers that queueing disciplines count. A datagram over the MTU is
    /// sent in IP fragments.
    pub fn wire_bytes(&self, mtu_bytes: u32) -> u32 {
        let mut framing = self.framing(mtu_bytes);
        if let Some(segment) = self.segment_bytes() {
            framing.mtu_bytes = segment.saturating_add(framing.packet_header_bytes());
        }
        let message = framing.message(self.message_size_bytes);
        u32::try_from(message.bytes).unwrap_or(u32::MAX)
    }

    /// What it means that messages do not fit into one packet of a path of this MTU, which a hop has, and the largest ones
    /// that do; absent where they do.
    pub fn in_fragments(&self, mtu_bytes: u32, hop: Option<&str>) -> Option<(String, u32)> {
        let size = match self.workload.is_transactional() {
            true => self.request_size_bytes.max(self.response_size_bytes),
            false => self.message_size_bytes,
        };
        let is_cut = self.workload.is_datagram() && self.send_mode != Mode::Gso;
        let framing = self.framing(mtu_bytes);
        let count: u64 = framing.fragments(size).iter().map(|of| of.count).sum();
        if !is_cut || count < 2 {
            return None;
        }
        let hop = hop.map_or(String::new(), |hop| format!(" at {hop}"));
        let words = format!(
            "messages of {size} bytes do not fit the path's MTU of {mtu_bytes} bytes{hop}: each datagram goes in {count} fragments, and the loss of one loses it"
        );
        Some((words, framing.full_payload_bytes()))
    }

    /// What to do so that no message has more than these bytes.
    pub fn use_at_most(&self, bytes: u32) -> String {
        let options = match self.workload.is_transactional() {
            true => "--request-size and --response-size",
            false => "-l",
        };
        format!("use {options} {bytes} or less")
    }

    /// True where the run asks for a rate of messages or bits.
    pub fn is_paced(&self) -> bool {
        self.message_rate.is_some() || self.rate_bps.is_some()
    }

    /// The most user data that all flows send at once before they wait, in bytes: a bound from above.
    pub fn burst_bytes(&self) -> u64 {
        let each = if self.workload.is_transactional() {
            u64::from(self.request_size_bytes) + u64::from(self.response_size_bytes)
        } else {
            u64::from(self.message_size_bytes) * u64::from(self.burst_messages.unwrap_or(1))
        };
        each.saturating_mul(self.flows.into())
    }

    /// The longest time between two messages of a flow, or two bursts, that a requested rate leaves.
    pub fn pause(&self) -> Duration {
        let each_s = self.transaction_rate.map(f64::from);
        let each_s = each_s.or_else(|| self.asked_messages_per_second(None));
        let burst = f64::from(self.burst_messages.unwrap_or(1));
        let pause_s = each_s.map_or(0.0, |each_s| burst / each_s);
        Duration::try_from_secs_f64(pause_s).unwrap_or(Duration::MAX / 2)
    }

    /// Messages per second that the run asks of each flow; absent where it is not paced. The MTU of
    /// the path matters where the rate counts headers; where it is not known datagrams count as one
    /// packet each.
    pub fn asked_messages_per_second(&self, path_mtu_bytes: Option<u32>) -> Option<f64> {
        if let Some(rate) = self.message_rate {
            return Some(rate as f64);
        }
        let bytes = match self.rate_of {
            RateOf::User => f64::from(self.message_size_bytes),
            RateOf::Wire => {
                let without = if self.workload.is_datagram() {
                    u32::MAX
                } else {
                    1500
                };
                f64::from(self.wire_bytes(path_mtu_bytes.unwrap_or(without)))
            }
        };
        Some(self.rate_bps? as f64 / (bytes * 8.0))
    }

    /// The user data that the run asks of each flow, in bit/s; absent where it asks for no rate.
    pub fn asked_bps(&self, path_mtu_bytes: Option<u32>) -> Option<f64> {
        let (each, bytes) = match self.workload.is_transactional() {
            true => (
                f64::from(self.transaction_rate?),
                f64::from(self.request_size_bytes) + f64::from(self.response_size_bytes),
            ),
            false => (
                self.asked_messages_per_second(path_mtu_bytes)?,
                f64::from(self.message_size_bytes),
            ),
        };
        Some(each * bytes * 8.0)
    }

    /// The messages per second that the sender itself keeps; absent where it keeps no rate.
    pub fn paced_messages_per_second(&self, path_mtu_bytes: Option<u32>) -> Option<f64> {
        (self.pacing != Pacing::Kernel).then(|| self.asked_messages_per_second(path_mtu_bytes))?
    }

    /// True where the run ends after a count of bytes or messages. The whole run is then the
    /// measured window.
    pub fn is_bounded(&self) -> bool {
        self.stop_bytes.is_some() || self.stop_messages.is_some()
    }

    /// The longest that the measured window may take: the duration, or an hour where the run is
    /// bounded by a count.
    pub fn window_limit(&self) -> Duration {
        if self.is_bounded() {
            Duration::from_secs(3600)
        } else {
            Duration::from_millis(self.duration_ms.into())
        }
    }

    /// The time that a run takes by its lengths, with what it takes besides its traffic.
    pub fn run_time(&self) -> Duration {
        Duration::from_millis(u64::from(self.warmup_ms + self.duration_ms)) + RUN_OVERHEAD
    }

    pub fn outage_timeout(&self) -> Duration {
        Duration::from_millis(self.outage_timeout_ms.into())
    }

    /// The time for which the idle hosts are measured before each block: the requested time;
    /// otherwise that of the window, but at most [`IDLE_BASELINE_MAX`].
    pub fn idle_baseline(&self) -> Duration {
        let asked = self
            .idle_baseline_ms
            .map(|ms| Duration::from_millis(ms.into()));
        asked.unwrap_or_else(|| self.window_limit().min(IDLE_BASELINE_MAX))
    }

    /// Messages that a bounded run sends: the number of whole ones, and the bytes of a last,
    /// shorter one.
    pub fn bound(&self) -> Option<(u64, u32)> {
        let size = u64::from(self.message_size_bytes);
        match (self.stop_bytes, self.stop_messages) {
            (Some(bytes), _) => Some((bytes / size, (bytes % size) as u32)),
            (None, Some(messages)) => Some((messages, 0)),
            (None, None) => None,
        }
    }

    /// True where the receiver sets its low-water mark itself ([`ReceiveSize::Auto`]): on a TCP stream
    /// without a rate limit, and with messages that are not larger than the highest mark.
    pub fn chooses_low_water(&self) -> bool {
        self.workload.is_byte_stream()
            && self.receive_low_water_bytes.is_none()
            && self.receive_size_bytes == ReceiveSize::Auto
            && !self.is_paced()
            && self.message_size_bytes <= AUTO_RECEIVE_BYTES
    }

    /// The buffer size of one receive call, in bytes.
    pub fn receive_bytes(&self) -> u32 {
        match self.receive_size_bytes {
            ReceiveSize::Bytes(bytes) => bytes,
            ReceiveSize::Auto if self.workload.is_byte_stream() => {
                self.message_size_bytes.max(AUTO_RECEIVE_BYTES)
            }
            ReceiveSize::Auto | ReceiveSize::Message => self.message_size_bytes,
        }
    }

    /// The user data per segment that the run asks for, in bytes.
    pub fn segment_bytes(&self) -> Option<u32> {
        if self.workload.is_datagram() {
            return None;
        }
        self.mss.map(|mss| match mss {
            Mss::Message => self.message_size_bytes,
            Mss::Bytes(bytes) => bytes,
        })
    }
}

/// The kernel's minimum and default of a socket's receive and send buffer, in bytes (tcp(7),
/// `tcp_rmem` and `tcp_wmem`).
const RECEIVE: [u64; 2] = [4096, 131_072];
const SEND: [u64; 2] = [4096, 16_384];

/// Requests the kernel parameters for the TCP buffers that the conditions ask for, on a path with
/// this bandwidth-delay product.
pub fn size_tcp_buffers(
    conditions: &mut Conditions,
    bdp_bytes: Option<u64>,
) -> Result<(), Invalid> {
    if let Some(asked) = conditions.tcp_buffers {
        let most = asked.bytes(bdp_bytes)?;
        let text = |[least, usual]: [u64; 2]| format!("{least} {} {most}", usual.min(most));
        let (receive, send) = (text(RECEIVE), text(SEND));
        let parameters = format!("net.ipv4.tcp_rmem={receive}, net.ipv4.tcp_wmem={send}");
        SYSCTL.ask(&mut conditions.host_settings, &parameters)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp_buffers::TcpBuffers;

    #[test]
    fn parts_have_one_direction_each_and_the_times_of_the_first() {
        let rr = Conditions {
            latency: true,
            duration_ms: 1,
            ..Conditions::of(Workload::TcpRr)
        };
        let run = Conditions {
            direction: Direction::Both,
            stop_bytes: Some(7),
            duration_ms: 500,
            background: vec![Conditions {
                direction: Direction::Reverse,
                ..rr
            }],
            ..Conditions::default()
        };
        let parts = run.parts();
        let phrases: Vec<String> = parts.iter().map(Conditions::phrase).collect();
        assert_eq!(phrases, ["→ tcp_stream", "← tcp_stream", "← tcp_rr"]);
        assert!(
            parts
                .iter()
                .all(|part| part.duration_ms == 500 && part.background.is_empty())
        );
        let bounded: Vec<bool> = parts.iter().map(Conditions::is_bounded).collect();
        assert_eq!(bounded, [true, false, false]);
        assert_eq!(parts[1].direction.role_of(Role::Sender), Role::Receiver);
    }

    #[test]
    fn the_document_s_eight_times_the_path() {
        let mut conditions = Conditions {
            tcp_buffers: TcpBuffers::parse("8 bdp"),
            ..Conditions::default()
        };
        size_tcp_buffers(&mut conditions, Some(2_500_000)).unwrap();
        let requested = conditions.host_settings.iter();
        let requested: Vec<String> = requested
            .map(|request| request.setting.to_string())
            .collect();
        assert_eq!(
            requested,
            [
                "net.ipv4.tcp_rmem=4096 131072 20000000",
                "net.ipv4.tcp_wmem=4096 16384 20000000"
            ]
        );
        assert!(
            size_tcp_buffers(&mut conditions, None)
                .unwrap_err()
                .0
                .contains("needs a lab whose path has a rate and a delay")
        );
        assert!(
            size_tcp_buffers(&mut conditions, Some(1))
                .unwrap_err()
                .0
                .contains("allowed: 4096 to")
        );
    }
}
