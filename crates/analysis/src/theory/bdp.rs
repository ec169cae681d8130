//! The bandwidth-delay product of a path, and buffers in multiples of it.

use std::time::Duration;

use bitcost_model::Invalid;
use bitcost_model::framing::{Framing, Transport};
use bitcost_model::units::bdp_bytes;

/// Most user data of one super-packet (`GSO_LEGACY_MAX_SIZE` of the kernel), in bytes.
const SUPER_PACKET: u64 = 65_536;

/// The path whose bandwidth-delay product is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bdp {
    pub rate_bps: u64,
    pub rtt: Duration,
    /// Maximum size of an IP packet, in bytes.
    pub mtu_bytes: u32,
}

impl Bdp {
    fn framing(&self) -> Framing {
        Framing::new(Transport::Tcp, self.mtu_bytes)
    }

    pub fn check(&self) -> Result<(), Invalid> {
        self.framing().check()
    }

    pub fn bytes(&self) -> u64 {
        bdp_bytes(self.rate_bps, self.rtt)
    }

    /// The product in full TCP segments of IPv4 with timestamps, rounded up: what a queue in
    /// packets must hold.
    pub fn segments(&self) -> u64 {
        let full = self.framing().full_payload_bytes();
        self.bytes().div_ceil(u64::from(full))
    }

    /// The same in super-packets of 64 KiB, rounded up.
    pub fn super_packets(&self) -> u64 {
        self.bytes().div_ceil(SUPER_PACKET)
    }
}
