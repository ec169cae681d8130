//! The bandwidth-delay product of a path, and buffers in multiples of it.

use std::time::Duration;

use bitcost_model::place::IpVersion;
use serde_json::{Value, json};

use crate::theory::framing::{Counted, Framing, Transport};
use crate::theory::show;

/// Multiples of the bandwidth-delay product that are shown.
const MULTIPLES: [u64; 5] = [1, 2, 4, 8, 16];

/// Bytes in one MB and in one MiB.
const MB: f64 = 1e6;
const MIB: f64 = 1_048_576.0;

/// Most user data of one super-packet (`GSO_LEGACY_MAX_SIZE` of the kernel), in bytes.
const SUPER_PACKET: f64 = 65_536.0;

/// Rate × round-trip time, in whole bytes.
pub fn bdp_bytes(rate_bps: u64, rtt: Duration) -> u64 {
    let bit_ns = u128::from(rate_bps) * rtt.as_nanos();
    u64::try_from((bit_ns + 4_000_000_000) / 8_000_000_000).unwrap_or(u64::MAX)
}

/// The path whose bandwidth-delay product is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bdp {
    /// Its rate, in bit/s.
    pub rate_bps: u64,
    /// Its round-trip time.
    pub rtt: Duration,
    /// Largest IP packet, in bytes.
    pub mtu_bytes: u32,
}

impl Bdp {
    fn framing(&self) -> Framing {
        let transport = Transport::Tcp { timestamps: true };
        Framing {
            ip: IpVersion::V4,
            transport,
            vlan: false,
            mtu_bytes: self.mtu_bytes,
            counted: Counted::Wire,
        }
    }

    /// Checks the input.
    ///
    /// # Errors
    /// A sentence that says what is allowed.
    pub fn check(&self) -> Result<(), String> {
        self.framing().check()
    }

    /// The bandwidth-delay product, in bytes.
    pub fn bytes(&self) -> u64 {
        bdp_bytes(self.rate_bps, self.rtt)
    }

    /// The product in full TCP segments of IPv4 with timestamps, rounded up: what a queue in
    /// packets must hold.
    pub fn segments(&self) -> u64 {
        self.bytes()
            .div_ceil(u64::from(self.framing().full_payload_bytes()))
    }

    /// The same in super-packets of 64 KiB, rounded up.
    pub fn super_packets(&self) -> u64 {
        (self.bytes() as f64 / SUPER_PACKET).ceil() as u64
    }

    /// The answer for people.
    pub fn text(&self) -> String {
        let (rate, ms) = (
            show::short_rate(self.rate_bps as f64),
            self.rtt.as_secs_f64() * 1e3,
        );
        let bytes = self.bytes();
        let rows = [
            (
                "bandwidth-delay product",
                format!("{rate} × {ms} ms ÷ 8 = {bytes} B"),
            ),
            (
                "in MB (10^6 B)",
                format!("{bytes} ÷ 1000000 = {:.3} MB", bytes as f64 / MB),
            ),
            (
                "in MiB (2^20 B)",
                format!("{bytes} ÷ 1048576 = {:.3} MiB", bytes as f64 / MIB),
            ),
            (
                "in full segments",
                format!("{} (MTU {})", self.segments(), self.mtu_bytes),
            ),
            (
                "in super-packets of 64 KiB",
                self.super_packets().to_string(),
            ),
        ];
        let rows = rows.map(|(name, value)| (name.to_owned(), value));
        let buffer = |n: &u64| {
            let size = bytes.saturating_mul(*n);
            let (mb, mib) = (size as f64 / MB, size as f64 / MIB);
            vec![
                format!("{n} × BDP"),
                size.to_string(),
                format!("{mb:.3}"),
                format!("{mib:.3}"),
            ]
        };
        let table = show::table(
            &["buffer", "bytes", "MB", "MiB"],
            &MULTIPLES.iter().map(buffer).collect::<Vec<_>>(),
        );
        format!(
            "a path of {rate} and {ms} ms\n\n{}\n{table}\n{}",
            show::lines(&rows),
            self.warning()
        )
    }

    /// The error of reading MB as MiB in the product.
    fn warning(&self) -> String {
        let mb = self.bytes() as f64 / MB;
        format!(
            "{mb:.3} MB is not {mb:.3} MiB: {mb:.3} × 1048576 would be {:.0} B, 4.9 % too much.\n\
             A receive window is the receive buffer × the share of user data in the memory that packets take, which the\n\
             receiver measures (Linux 6.6 and later; half at first, and tcp_adv_win_scale has no effect) or half of it\n\
             (before, by tcp_adv_win_scale): to keep the path full, the buffer must hold 2 × BDP. A queue that is limited in packets holds super-packets or segments,\n\
             as the offloads say: a limit that is enough for {} of one kind is not for {} of the other.\n",
            mb * MIB,
            self.super_packets(),
            self.segments()
        )
    }

    /// The answer for programs.
    pub fn json(&self) -> Value {
        let bytes = self.bytes();
        let buffer = |n: &u64| json!({ "multiple": n, "bytes": bytes.saturating_mul(*n) });
        json!({
            "rate_bps": self.rate_bps,
            "rtt_us": self.rtt.as_nanos() as f64 / 1e3,
            "mtu_bytes": self.mtu_bytes,
            "bdp_bytes": bytes,
            "bdp_segments": self.segments(),
            "bdp_super_packets": self.super_packets(),
            "buffers": MULTIPLES.iter().map(buffer).collect::<Vec<_>>(),
        })
    }
}
