//! The bytes around user data, from the preamble of a frame to the options of TCP.

use crate::Invalid;
use crate::conditions::TCP_TIMESTAMPS;
use crate::place::IpVersion;

pub use crate::workload::Transport;

/// The part of a frame that uses up a link's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counted {
    /// Everything that passes an Ethernet's wire: preamble, header, check sequence, gap, and the
    /// padding of short frames.
    #[default]
    Wire,
    /// The bytes that queueing disciplines and link emulators count, and so an emulated link: of
    /// the frame, only the header.
    Queue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// Version of IP, without options or extension headers.
    pub ip: IpVersion,
    pub transport: Transport,
    /// Whether each segment of TCP carries the timestamps of RFC 7323.
    pub timestamps: bool,
    /// True where frames carry an IEEE 802.1Q tag.
    pub vlan: bool,
    /// Maximum size of an IP packet, in bytes.
    pub mtu_bytes: u32,
    pub counted: Counted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnWire {
    pub packets: u64,
    /// All bytes that pass the wire, including preambles and gaps.
    pub bytes: u64,
}

/// A number of IP packets of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragments {
    pub count: u64,
    pub packet_bytes: u32,
}

/// Preamble and start of frame (IEEE 802.3, 3.2).
const PREAMBLE: u32 = 8;

const ETHERNET: u32 = 14;

/// The 802.1Q tag.
const VLAN: u32 = 4;

const CHECK: u32 = 4;

/// The gap between frames, 96 bit times.
const GAP: u32 = 12;

/// The minimum length of a frame with its check sequence; shorter frames are padded.
const FRAME_MIN: u32 = 64;

const TCP: u32 = 20;

const UDP: u32 = 8;

/// The fragment header of IPv6 (RFC 8200, 4.5).
const IPV6_FRAGMENT: u32 = 8;

impl Framing {
    pub fn new(transport: Transport, mtu_bytes: u32) -> Framing {
        Framing {
            ip: IpVersion::V4,
            transport,
            timestamps: true,
            vlan: false,
            mtu_bytes,
            counted: Counted::Wire,
        }
    }

    pub fn check(&self) -> Result<(), Invalid> {
        let least = match self.ip {
            IpVersion::V4 => 88,
            IpVersion::V6 => 1280,
        };
        if (least..=65_535).contains(&self.mtu_bytes) {
            return Ok(());
        }
        let version = self.ip.name();
        Err(Invalid(format!(
            "an MTU of {} bytes is not possible with IPv{version}; allowed: {least} to 65535",
            self.mtu_bytes
        )))
    }

    pub fn check_message(&self, size_bytes: u32) -> Result<(), Invalid> {
        self.check()?;
        let most = match self.transport {
            Transport::Tcp => 1 << 30,
            Transport::Udp => self.ip.udp_payload_max(),
        };
        if (1..=most).contains(&size_bytes) {
            return Ok(());
        }
        Err(Invalid(format!(
            "a message of {size_bytes} bytes is not possible; allowed: 1 to {most}"
        )))
    }

    /// All headers and trailers around the user data of an unfragmented packet, by name, outermost
    /// first, in bytes.
    pub fn headers(&self) -> Vec<(&'static str, u32)> {
        [self.frame(), self.packet()].concat()
    }

    /// Bytes of a frame apart from the IP packet in it.
    pub fn frame_bytes(&self) -> u32 {
        self.frame().iter().map(|(_, bytes)| bytes).sum()
    }

    pub fn packet_header_bytes(&self) -> u32 {
        self.packet().iter().map(|(_, bytes)| bytes).sum()
    }

    /// User data of the largest packet, in bytes.
    pub fn full_payload_bytes(&self) -> u32 {
        self.mtu_bytes.saturating_sub(self.packet_header_bytes())
    }

    /// Bytes that an IP packet takes on the wire; a frame below the minimum is padded.
    pub fn wire_bytes(&self, packet_bytes: u32) -> u32 {
        if self.counted == Counted::Queue {
            return packet_bytes + self.frame_bytes();
        }
        let in_frame = self.frame_bytes() - PREAMBLE - GAP;
        (packet_bytes + in_frame).max(FRAME_MIN) + PREAMBLE + GAP
    }

    pub fn full(&self) -> OnWire {
        OnWire {
            packets: 1,
            bytes: u64::from(self.wire_bytes(self.mtu_bytes)),
        }
    }

    /// User data in a full packet ÷ its bytes on the wire.
    pub fn efficiency(&self) -> f64 {
        f64::from(self.full_payload_bytes()) / self.full().bytes as f64
    }

    /// A message sent alone: TCP cuts it into segments; UDP leaves that to IP, which cuts it into
    /// fragments.
    pub fn message(&self, size_bytes: u32) -> OnWire {
        let packets = match self.transport {
            Transport::Tcp => {
                let header = self.packet_header_bytes();
                cut(size_bytes, self.full_payload_bytes(), header)
            }
            Transport::Udp => self.fragments(size_bytes),
        };
        let bytes = |of: &Fragments| of.count * u64::from(self.wire_bytes(of.packet_bytes));
        OnWire {
            packets: packets.iter().map(|of| of.count).sum(),
            bytes: packets.iter().map(bytes).sum(),
        }
    }

    /// The IP packets of a datagram: one packet, or fragments whose data is a multiple of 8 bytes except in the last
    /// (RFC 791, RFC 8200).
    pub fn fragments(&self, size_bytes: u32) -> Vec<Fragments> {
        let (ip, data) = (self.ip.header_bytes(), size_bytes.saturating_add(UDP));
        if data.saturating_add(ip) <= self.mtu_bytes {
            return vec![Fragments {
                count: 1,
                packet_bytes: ip + data,
            }];
        }
        let header = match self.ip {
            IpVersion::V4 => ip,
            IpVersion::V6 => ip + IPV6_FRAGMENT,
        };
        cut(
            data,
            (self.mtu_bytes.saturating_sub(header) & !7).max(8),
            header,
        )
    }

    /// `TCP over IPv4 over Ethernet`.
    pub fn name(&self) -> String {
        let transport = match self.transport {
            Transport::Tcp if self.timestamps => "TCP",
            Transport::Tcp => "TCP without timestamps",
            Transport::Udp => "UDP",
        };
        let ip = self.ip.name();
        let tag = if self.vlan { " with a VLAN tag" } else { "" };
        let counted = match self.counted {
            Counted::Wire => "",
            Counted::Queue => " as queues count it",
        };
        format!("{transport} over IPv{ip} over Ethernet{tag}{counted}")
    }

    fn frame(&self) -> Vec<(&'static str, u32)> {
        let tag = self.vlan.then_some(("VLAN tag", VLAN));
        let mut frame = vec![("Ethernet header", ETHERNET)];
        frame.extend(tag);
        if self.counted == Counted::Wire {
            frame.insert(0, ("preamble", PREAMBLE));
            frame.extend([("check sequence", CHECK), ("gap", GAP)]);
        }
        frame
    }

    fn packet(&self) -> Vec<(&'static str, u32)> {
        let ip = match self.ip {
            IpVersion::V4 => "IPv4 header",
            IpVersion::V6 => "IPv6 header",
        };
        let ip = (ip, self.ip.header_bytes());
        match self.transport {
            Transport::Udp => vec![ip, ("UDP header", UDP)],
            Transport::Tcp if !self.timestamps => vec![ip, ("TCP header", TCP)],
            Transport::Tcp => vec![ip, ("TCP header", TCP), ("timestamps", TCP_TIMESTAMPS)],
        }
    }
}

fn cut(data_bytes: u32, piece_bytes: u32, header_bytes: u32) -> Vec<Fragments> {
    let piece_bytes = piece_bytes.max(1);
    let (whole, rest) = (data_bytes / piece_bytes, data_bytes % piece_bytes);
    let pieces = [(whole, piece_bytes), (u32::from(rest > 0), rest)];
    let pieces = pieces.map(|(count, bytes)| Fragments {
        count: u64::from(count),
        packet_bytes: bytes + header_bytes,
    });
    pieces.into_iter().filter(|of| of.count > 0).collect()
}
