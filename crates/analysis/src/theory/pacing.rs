//! From a rate of user data to the rate that a queueing discipline is given, as the paper's
//! footnote 7 computes it.

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;

use crate::theory::framing::{Framing, Transport};

/// The rate of user data and the messages for which a pacing rate is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Pacing {
    pub conditions: Conditions,
    /// The rate of user data, in bit/s.
    pub rate_bps: u64,
    /// Maximum size of an IP packet, in bytes.
    pub mtu_bytes: u32,
}

impl Pacing {
    pub fn check(&self) -> Result<(), Invalid> {
        let transport = match self.conditions.workload.is_datagram() {
            true => Transport::Udp,
            false => Transport::Tcp { timestamps: true },
        };
        let framing = Framing {
            ip: self.conditions.ip_version(),
            ..Framing::new(transport, self.mtu_bytes)
        };
        framing.check_message(self.conditions.message_size_bytes)
    }

    /// Bytes of a message with the headers that queueing disciplines count.
    pub fn wire_bytes(&self) -> u32 {
        self.conditions.wire_bytes(self.mtu_bytes)
    }

    /// The rate with those headers, in whole bytes per second, as `SO_MAX_PACING_RATE` and
    /// netperf's `-q` take it. The fraction is cut off, as the paper's `expr` does.
    pub fn bytes_per_second(&self) -> u64 {
        let rate = u128::from(self.rate_bps / 8) * u128::from(self.wire_bytes());
        let rate = rate / u128::from(self.conditions.message_size_bytes);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// The rate with those headers, in bit/s.
    pub fn bits_per_second(&self) -> f64 {
        let message = f64::from(self.conditions.message_size_bytes);
        self.rate_bps as f64 * f64::from(self.wire_bytes()) / message
    }

    pub fn messages_per_second(&self) -> f64 {
        self.rate_bps as f64 / 8.0 / f64::from(self.conditions.message_size_bytes)
    }
}
