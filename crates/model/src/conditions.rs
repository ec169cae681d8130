//! The conditions of one run: its traffic, the settings of its sockets and hosts, and its length.

pub mod bounds;
mod check;
mod impossible;
mod modes;

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buffers::Buffers;
use crate::host_settings::{self, SettingRequest};
use crate::modes::Mode;
use crate::path_change::PathChange;
use crate::place::{IpVersion, Places};
use crate::record::Role;
use crate::search::Goal;
use crate::shaping::QueueLimit;
use crate::tcp_buffers::TcpBuffers;

pub use crate::workload::Workload;
pub use impossible::Impossible;

words! {
    /// The direction of the messages or requests of a part. The two hosts are called sender and receiver.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Direction {
        /// From the host called sender.
        #[default]
        Forward = "forward",
        /// From the host called receiver.
        Reverse = "reverse",
        /// Both ways at once: the second part is the mirror of the first.
        Both = "both",
    }
}

impl Direction {
    /// The role that the host called `host` plays. The mapping is its own inverse, so it also gives
    /// the host that plays a role.
    pub fn role_of(self, host: Role) -> Role {
        match self {
            Direction::Forward | Direction::Both => host,
            Direction::Reverse => host.other(),
        }
    }

    /// An arrow for display: from the host called sender, or towards it.
    pub fn arrow(self) -> char {
        match self {
            Direction::Forward => '→',
            Direction::Reverse => '←',
            Direction::Both => '↔',
        }
    }
}

/// The user data of one TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mss {
    /// The size of a message, so that one segment carries one message.
    Message,
    /// This many bytes of user data.
    Bytes(u32),
}

/// Stateless offloads (`tso gso gro`, and `lro` where it is offered) of both hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Offloads {
    On,
    Off,
    /// The host's own state is left as it is.
    #[default]
    AsFound,
}

impl Offloads {
    /// What all of them are set to; absent where they are left.
    pub fn set(self) -> Option<&'static str> {
        match self {
            Offloads::On => Some("on"),
            Offloads::Off => Some("off"),
            Offloads::AsFound => None,
        }
    }
}

/// The way in which a receiver waits for data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// It blocks in the receive call.
    #[default]
    Block,
    /// It calls repeatedly without blocking (`MSG_DONTWAIT`).
    Spin,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveSize {
    /// TCP: [`AUTO_RECEIVE_BYTES`] or a message, whichever is larger, with a low-water mark that the
    /// receiver sets itself ([`Conditions::chooses_low_water`]). UDP: a message.
    Auto,
    #[default]
    Message,
    Bytes(u32),
}

/// Buffer size of a TCP receive call, and the highest low-water mark, of a receiver that chooses
/// them itself.
pub const AUTO_RECEIVE_BYTES: u32 = 256 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateOf {
    #[default]
    User,
    /// User data with the headers of Ethernet, IP and transport, as queueing disciplines count.
    Wire,
}

/// The part of the system that delays messages to keep a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// The kernel for UDP where the interface has `fq`, else the sender.
    #[default]
    Auto,
    /// The kernel (`SO_MAX_PACING_RATE`).
    Kernel,
    /// The sender itself, by sleeping.
    Sender,
}

/// The conditions of one run. Every cell of a study has one of these. A setting that is
/// not written has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Conditions {
    pub workload: Workload,
    #[serde(default)]
    pub direction: Direction,
    /// Concurrent background workloads, each with separate settings ([`Conditions::parts`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<Conditions>,
    /// The mode in which the sender hands over its messages.
    pub send_mode: Mode,
    pub receive_mode: Mode,
    /// True where short trials choose modes and settings of the sockets before the first run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mode_auto: bool,
    #[serde(default, skip_serializing_if = "Goal::is_default")]
    pub search_for: Goal,
    /// The most messages of one send call, in a mode that hands over several; absent: 64, and 128 of
    /// `gso`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_per_call: Option<u32>,
    /// Bytes that one send call hands over.
    pub message_size_bytes: u32,
    /// Buffer size of one receive call, in bytes.
    pub receive_size_bytes: ReceiveSize,
    /// User data per TCP segment; absent: what the path gives.
    pub mss: Option<Mss>,
    /// Stateless offloads at both hosts; other sets of offloads are among the host settings.
    pub offloads: Offloads,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_settings: Vec<SettingRequest>,
    /// The most that may wait in each queue of the lab that delays packets; absent: the lab's own
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulator_queue_limit: Option<QueueLimit>,
    /// Interrupt moderation of the lab's interfaces that receive a stream, in microseconds; absent:
    /// the lab's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moderation_us: Option<u32>,
    /// A change of the lab's links for the run; absent: as the lab requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_change: Option<PathChange>,
    /// TCP congestion control, set per socket; absent: the host's default.
    pub congestion_control: Option<String>,
    /// `SO_SNDBUF` to ask for, in bytes; absent: the host's default or auto-tuning.
    pub send_buffer_bytes: Option<u32>,
    /// `SO_RCVBUF` to ask for, in bytes; absent: the host's default or auto-tuning.
    pub receive_buffer_bytes: Option<u32>,
    /// The most that the kernel's autotuning may give TCP buffers at both endpoints; absent: as the
    /// hosts have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_buffers: Option<TcpBuffers>,
    /// `SO_RCVLOWAT`, in bytes: a TCP receiver is blocked until this much has arrived; absent: the
    /// kernel's mark of one byte, but see [`Conditions::chooses_low_water`].
    pub receive_low_water_bytes: Option<u32>,
    /// `TCP_NOTSENT_LOWAT`, in bytes: with this much unsent, the sender's socket takes no more; absent:
    /// the kernel's (`net.ipv4.tcp_notsent_lowat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notsent_low_water_bytes: Option<u32>,
    /// `TCP_NODELAY` at both endpoints.
    pub nodelay: bool,
    /// `TCP_CORK` at both endpoints.
    pub cork: bool,
    /// Differentiated services code point of the packets that both endpoints send (RFC 2474).
    pub dscp: Option<u32>,
    /// The way in which a receiver waits.
    pub waiting: Waiting,
    /// `SO_BUSY_POLL` at both endpoints, in microseconds.
    pub busy_poll_us: Option<u32>,
    /// Time that the receiver sleeps after each receive call, in microseconds.
    pub receiver_delay_us: u32,
    /// Rate of each flow, in bit/s of the bytes that [`Conditions::rate_of`] names; absent:
    /// unlimited.
    pub rate_bps: Option<u64>,
    pub rate_of: RateOf,
    /// Rate of each flow, in messages per second; absent: unlimited.
    pub message_rate: Option<u64>,
    /// Messages that a paced sender sends in one burst; absent: those of 100 µs.
    pub burst_messages: Option<u32>,
    /// The part of the system that delays messages to keep the rate.
    pub pacing: Pacing,
    /// Flows at the same time.
    pub flows: u32,
    /// Bytes of user data after which the run ends, over all flows; absent: it ends by time.
    pub stop_bytes: Option<u64>,
    /// Messages or transactions after which the run ends, over all flows; absent: it ends by time.
    pub stop_messages: Option<u64>,
    pub request_size_bytes: u32,
    pub response_size_bytes: u32,
    /// True where the sender records the time of each transaction of the measured window; of
    /// streams the time of each send call.
    pub latency: bool,
    /// True where datagrams of a stream carry the time at which they were sent, and the kernel
    /// reports when they arrived.
    pub delay_variation: bool,
    /// Transactions that each flow starts per second; absent: each transaction starts after the one
    /// before.
    pub transaction_rate: Option<u32>,
    /// The program's own part in each message.
    #[serde(default)]
    pub buffers: Buffers,
    /// Addresses, devices, ports and CPUs of both endpoints.
    #[serde(default)]
    pub places: Places,
    /// Time before each block in which the idle hosts are measured, in milliseconds; 0: none;
    /// absent: [`Conditions::idle_baseline`] chooses.
    #[serde(default)]
    pub idle_baseline_ms: Option<u32>,
    /// Time before the measured window in which nothing is counted, in milliseconds.
    pub warmup_ms: u32,
    /// The measured window, in milliseconds.
    pub duration_ms: u32,
}

/// The sizes of netperf's requests and responses.
fn one() -> u32 {
    1
}

impl Default for Conditions {
    fn default() -> Self {
        Conditions {
            workload: Workload::default(),
            direction: Direction::Forward,
            background: Vec::new(),
            send_mode: Mode::Plain,
            receive_mode: Mode::Plain,
            mode_auto: false,
            search_for: Goal::Rate,
            messages_per_call: None,
            message_size_bytes: Workload::default().info().message_size_bytes,
            receive_size_bytes: ReceiveSize::Message,
            mss: None,
            offloads: Offloads::AsFound,
            host_settings: Vec::new(),
            emulator_queue_limit: None,
            moderation_us: None,
            path_change: None,
            congestion_control: None,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            tcp_buffers: None,
            receive_low_water_bytes: None,
            notsent_low_water_bytes: None,
            nodelay: false,
            cork: false,
            dscp: None,
            waiting: Waiting::Block,
            busy_poll_us: None,
            receiver_delay_us: 0,
            rate_bps: None,
            rate_of: RateOf::User,
            message_rate: None,
            burst_messages: None,
            pacing: Pacing::Auto,
            flows: 1,
            stop_bytes: None,
            stop_messages: None,
            request_size_bytes: one(),
            response_size_bytes: one(),
            latency: false,
            delay_variation: false,
            transaction_rate: None,
            buffers: Buffers::default(),
            places: Places::default(),
            idle_baseline_ms: None,
            warmup_ms: 250,
            duration_ms: 2000,
        }
    }
}

/// The longest time for which the idle hosts are measured before a block, unless a run asks for
/// another.
pub const IDLE_BASELINE_MAX: Duration = Duration::from_secs(1);

/// Bytes at the front of a datagram that carry its number and the time at which it was sent.
pub const STAMPED_BYTES: u32 = 16;

/// Time after which an unanswered UDP request is given up.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Largest request and largest response over TCP, in bytes.
pub const TRANSACTION_MAX: u32 = 1 << 24;

/// Most transactions per second that an open loop may be asked for.
pub const TRANSACTION_RATE_MAX: u32 = 10_000_000;

/// TCP's header without options, in bytes (RFC 9293).
const TCP_HEADER: u32 = 20;

/// UDP's header, in bytes (RFC 768).
const UDP_HEADER: u32 = 8;

/// The timestamp option as Linux pads it, in bytes (RFC 7323).
pub const TCP_TIMESTAMPS: u32 = 12;

impl Conditions {
    /// The version of IP that headers are counted by: the one asked for, or 4.
    pub fn ip_version(&self) -> IpVersion {
        self.places.asked_version().unwrap_or(IpVersion::V4)
    }

    /// Headers of IP and of the transport without options, in bytes.
    pub fn header_bytes(&self) -> u32 {
        self.ip_version().header_bytes()
            + if self.workload.is_datagram() {
                UDP_HEADER
            } else {
                TCP_HEADER
            }
    }

    /// The conditions of one workload alone, with messages of a size that it can carry.
    pub fn of(workload: Workload) -> Conditions {
        Conditions {
            workload,
            message_size_bytes: workload.info().message_size_bytes,
            ..Conditions::default()
        }
    }

    /// All parts of the run, each with one direction and without background workloads. The first
    /// part is the run's own workload, the next is its mirror where it goes both ways; the
    /// background workloads follow.
    ///
    /// All parts start and end together, so times, bounds and the hosts' offloads are those of the
    /// first part. Parts after a bounded first part have no bound themselves: they end with it.
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
            (part.warmup_ms, part.duration_ms, part.offloads) =
                (self.warmup_ms, self.duration_ms, self.offloads);
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

    /// The names of the settings that the run changes at the host of the endpoint with this role, and of the
    /// lab's interfaces there.
    ///
    /// Every field is named here, so that a new one is judged before a service accepts it.
    pub fn changed_settings(&self, role: Role) -> BTreeSet<&str> {
        #[rustfmt::skip]
        let Conditions {
            direction,
            offloads,
            host_settings: asked,
            emulator_queue_limit,
            moderation_us,
            path_change,
            tcp_buffers,
            // Traffic, sockets and the program's own memory.
            workload: _, background: _, send_mode: _, receive_mode: _,
            message_size_bytes: _, receive_size_bytes: _, mss: _, congestion_control: _,
            send_buffer_bytes: _, receive_buffer_bytes: _, receive_low_water_bytes: _, notsent_low_water_bytes: _, mode_auto: _, search_for: _, messages_per_call: _, nodelay: _,
            cork: _, dscp: _, waiting: _, busy_poll_us: _, receiver_delay_us: _,
            rate_bps: _, rate_of: _, message_rate: _, burst_messages: _, pacing: _, flows: _,
            stop_bytes: _, stop_messages: _, request_size_bytes: _, response_size_bytes: _,
            latency: _, delay_variation: _, transaction_rate: _, buffers: _, places: _,
            idle_baseline_ms: _, warmup_ms: _, duration_ms: _,
        } = self;
        let host = direction.role_of(role);
        let mut names: BTreeSet<&str> = asked
            .iter()
            .filter(|request| request.is_of(host))
            .map(|request| request.setting.as_str())
            .collect();
        if *offloads != Offloads::AsFound {
            names.insert(host_settings::OFFLOADS);
        }
        if tcp_buffers.is_some() {
            names.insert(host_settings::SYSCTL);
        }
        if moderation_us.is_some() {
            names.insert("moderation");
        }
        if path_change.is_some() {
            names.insert("path_change");
        }
        if emulator_queue_limit.is_some() {
            names.insert("emulator_queue_limit");
        }
        names
    }

    /// The least MTU in bytes that the run asks of an interface, if it asks for any.
    pub fn asked_mtu_bytes(&self) -> Option<u32> {
        let mtus = self
            .host_settings
            .iter()
            .filter(|request| request.setting == host_settings::MTU);
        mtus.filter_map(|request| request.values.get("value")?.parse().ok())
            .min()
    }

    /// Bytes that a message takes on the wire with the headers that queueing disciplines count:
    /// Ethernet 14, IPv4 20 or IPv6 40, UDP 8 or TCP 20 and timestamps 12 for each segment. A
    /// datagram over the MTU is sent in IP fragments: each has the headers of Ethernet and IP, with
    /// IPv6 8 bytes more.
    pub fn wire_bytes(&self, mtu_bytes: u32) -> u32 {
        const ETHERNET: u32 = 14;
        if self.workload.is_datagram() {
            return self.datagram_wire_bytes(ETHERNET, mtu_bytes);
        }
        let segment = self
            .segment_bytes()
            .unwrap_or(mtu_bytes.saturating_sub(self.header_bytes() + TCP_TIMESTAMPS))
            .max(1);
        let segments = self.message_size_bytes.div_ceil(segment);
        self.message_size_bytes + segments * (ETHERNET + self.header_bytes() + TCP_TIMESTAMPS)
    }

    fn datagram_wire_bytes(&self, ethernet: u32, mtu_bytes: u32) -> u32 {
        const UDP: u32 = 8;
        let (ip, data) = (self.header_bytes() - UDP, self.message_size_bytes + UDP);
        if data + ip <= mtu_bytes {
            return data + ip + ethernet;
        }
        let ip = match self.ip_version() {
            IpVersion::V4 => ip,
            IpVersion::V6 => ip + 8,
        };
        // All fragments but the last carry a multiple of 8 bytes.
        let each = (mtu_bytes.saturating_sub(ip) / 8 * 8).max(8);
        data + data.div_ceil(each) * (ip + ethernet)
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

    /// The same rate where the sender itself keeps it; absent otherwise.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
