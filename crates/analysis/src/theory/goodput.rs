//! The most user data that a link carries, and how that depends on the size of messages.

use bitcost_model::Invalid;
use bitcost_model::framing::{Fragments, Framing, OnWire, Transport};

/// Message sizes of the curve, in bytes: those of the paper's sweep and beyond.
const SIZES: [u32; 17] = [
    1, 2, 4, 16, 32, 64, 128, 256, 512, 800, 1024, 1448, 2048, 4096, 8192, 16_384, 65_507,
];

/// The packets and the rate of the link for which goodput is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goodput {
    pub framing: Framing,
    /// Rate of the link, counting everything that passes it, in bit/s.
    pub rate_bps: u64,
    /// A message size of special interest, in bytes.
    pub message_size_bytes: Option<u32>,
}

/// The most that the link carries in messages of one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub message_size_bytes: u32,
    /// The packets of a message if each message travels alone.
    pub alone: OnWire,
    /// User data per second if each message travels alone, in bit/s.
    pub goodput_bps: f64,
    /// Packets per second if each message travels alone.
    pub packets_per_second: f64,
    /// The IP packets of a datagram that does not fit into one.
    pub fragments: Vec<Fragments>,
}

impl Goodput {
    pub fn check(&self) -> Result<(), Invalid> {
        self.framing
            .check_message(self.message_size_bytes.unwrap_or(1))
    }

    /// The most user data per second, in full packets, in bit/s.
    pub fn goodput_bps(&self) -> f64 {
        self.rate_bps as f64 * self.framing.efficiency()
    }

    /// Full packets per second at the link's rate.
    pub fn packets_per_second(&self) -> f64 {
        self.rate_bps as f64 / (8.0 * self.framing.full().bytes as f64)
    }

    pub fn point(&self, message_size_bytes: u32) -> Point {
        let alone = self.framing.message(message_size_bytes);
        let messages_per_second = self.rate_bps as f64 / (8.0 * alone.bytes as f64);
        Point {
            message_size_bytes,
            alone,
            goodput_bps: messages_per_second * 8.0 * f64::from(message_size_bytes),
            packets_per_second: messages_per_second * alone.packets as f64,
            fragments: match self.framing.transport {
                Transport::Udp if alone.packets > 1 => self.framing.fragments(message_size_bytes),
                _ => Vec::new(),
            },
        }
    }

    /// The curve over message sizes, with the size of special interest.
    pub fn curve(&self) -> Vec<Point> {
        let most = self.framing.ip.udp_payload_max();
        let mut sizes: Vec<u32> = SIZES.iter().copied().filter(|size| *size <= most).collect();
        sizes.extend(self.message_size_bytes);
        sizes.push(self.framing.full_payload_bytes().min(most));
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().map(|size| self.point(size)).collect()
    }
}
