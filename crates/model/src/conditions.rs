//! The conditions of one run: what traffic, packaged how, for how long.

use serde::{Deserialize, Serialize};

/// One way to make traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// One TCP connection, one send call per message, sender to receiver.
    TcpStream,
    /// One UDP flow, one datagram per message, sender to receiver.
    UdpStream,
}

impl Workload {
    /// Every workload with the name that studies use.
    pub const NAMES: [(&'static str, Workload); 2] =
        [("tcp_stream", Workload::TcpStream), ("udp_stream", Workload::UdpStream)];

    /// The name that studies use.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, workload)| *workload == self).map_or("", |(name, _)| name)
    }

    /// True where each message travels as a datagram of its own.
    pub fn is_datagram(self) -> bool {
        self == Workload::UdpStream
    }
}

/// How much user data one TCP segment may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mss {
    /// As many bytes as one message, so that one segment carries one message.
    Message,
    /// This many bytes of user data.
    Bytes(u32),
}

/// Which stateless offloads (`tso gso gro`, and `lro` where it is offered) both hosts use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offloads {
    /// All on.
    On,
    /// All off.
    Off,
    /// Whatever the host had.
    #[default]
    AsFound,
}

/// How a receiver waits for data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// Asleep in the call.
    #[default]
    Block,
    /// Calling again and again (`MSG_DONTWAIT`).
    Spin,
}

/// What one run does. Every cell of a study has one of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// The way traffic is made.
    pub workload: Workload,
    /// Bytes that one send call hands over.
    pub message_size_bytes: u32,
    /// Bytes that one receive call has room for; absent: one message.
    pub receive_size_bytes: Option<u32>,
    /// User data per TCP segment; absent: what the path gives.
    pub mss: Option<Mss>,
    /// Stateless offloads at both hosts.
    pub offloads: Offloads,
    /// TCP congestion control, set per socket; absent: the host's default.
    pub congestion_control: Option<String>,
    /// `SO_SNDBUF` to ask for, in bytes; absent: the host's default or auto-tuning.
    pub send_buffer_bytes: Option<u32>,
    /// `SO_RCVBUF` to ask for, in bytes; absent: the host's default or auto-tuning.
    pub receive_buffer_bytes: Option<u32>,
    /// `SO_RCVLOWAT`, in bytes: a TCP receiver sleeps until this much is there; absent: any byte wakes it.
    pub receive_low_water_bytes: Option<u32>,
    /// `TCP_NODELAY` at both ends.
    pub nodelay: bool,
    /// `TCP_CORK` at both ends.
    pub cork: bool,
    /// Differentiated services code point of what both ends send (RFC 2474).
    pub dscp: Option<u32>,
    /// `SO_PRIORITY` of what both ends send.
    pub priority: Option<u32>,
    /// How a receiver waits.
    pub waiting: Waiting,
    /// `SO_BUSY_POLL` at both ends, in microseconds.
    pub busy_poll_us: Option<u32>,
    /// Time that the receiver spends asleep after each receive call, in microseconds.
    pub receiver_delay_us: u32,
    /// Time before the measured window, not counted, in milliseconds.
    pub warmup_ms: u32,
    /// The measured window, in milliseconds.
    pub duration_ms: u32,
}

impl Default for Conditions {
    fn default() -> Self {
        Conditions {
            workload: Workload::TcpStream,
            message_size_bytes: 131_072,
            receive_size_bytes: None,
            mss: None,
            offloads: Offloads::AsFound,
            congestion_control: None,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            receive_low_water_bytes: None,
            nodelay: false,
            cork: false,
            dscp: None,
            priority: None,
            waiting: Waiting::Block,
            busy_poll_us: None,
            receiver_delay_us: 0,
            warmup_ms: 250,
            duration_ms: 2000,
        }
    }
}

/// Largest UDP payload over IPv4: 65 535 less 20 (IP) and 8 (UDP) (RFC 768, RFC 791).
pub const UDP_PAYLOAD_MAX: u32 = 65_507;

/// IPv4 and TCP headers without options, in bytes (RFC 791, RFC 9293).
pub const IPV4_TCP_HEADERS: u32 = 40;

/// The timestamp option as Linux pads it, in bytes (RFC 7323).
pub const TCP_TIMESTAMPS: u32 = 12;

impl Conditions {
    /// The room of one receive call, in bytes.
    pub fn receive_bytes(&self) -> u32 {
        self.receive_size_bytes.unwrap_or(self.message_size_bytes)
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

    /// Checks what can be checked without a host: sizes against the protocol and the link's MTU.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed.
    pub fn check(&self, mtu_bytes: u32) -> Result<(), String> {
        if self.workload.is_datagram() && self.message_size_bytes > UDP_PAYLOAD_MAX {
            return Err(format!(
                "message size {} bytes is over the UDP limit; allowed: 1 to {UDP_PAYLOAD_MAX}",
                self.message_size_bytes
            ));
        }
        if self.workload.is_datagram() && self.receive_bytes() < self.message_size_bytes {
            return Err(format!(
                "a receive call of {} bytes cuts datagrams of {} bytes; allowed: at least the message size",
                self.receive_bytes(),
                self.message_size_bytes
            ));
        }
        let Some(segment) = self.segment_bytes() else { return Ok(()) };
        let room = mtu_bytes.saturating_sub(IPV4_TCP_HEADERS + TCP_TIMESTAMPS);
        if segment > room {
            return Err(format!(
                "an MSS of {segment} bytes does not fit the MTU of {mtu_bytes}; allowed: 88 to {room} (MTU less {IPV4_TCP_HEADERS} bytes of headers and {TCP_TIMESTAMPS} of timestamps)"
            ));
        }
        if segment < 88 {
            return Err(format!("an MSS of {segment} bytes is below what Linux takes; allowed: 88 to {room}"));
        }
        Ok(())
    }
}
