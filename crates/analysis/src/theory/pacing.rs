//! From a rate of user data to the rate that a queueing discipline is given, as the paper's
//! footnote 7 computes it.

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;

use crate::theory::framing::{Counted, Framing, Transport};
use crate::theory::goodput::Goodput;

/// The rate of user data and the messages for which a pacing rate is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Pacing {
    conditions: Conditions,
    rate_bps: u64,
    mtu_bytes: u32,
}

impl Pacing {
    /// The pacing that the conditions' messages need to carry user data at `rate_bps`, over links
    /// of this MTU.
    ///
    /// # Errors
    /// What is wrong with the conditions, with what is allowed.
    pub fn new(conditions: Conditions, rate_bps: u64, mtu_bytes: u32) -> Result<Pacing, Invalid> {
        let transport = if conditions.workload.is_datagram() {
            Transport::Udp
        } else {
            Transport::Tcp { timestamps: true }
        };
        let framing = Framing {
            ip: conditions.ip_version(),
            transport,
            vlan: false,
            mtu_bytes,
            counted: Counted::Wire,
        };
        Goodput {
            framing,
            rate_bps,
            message_size_bytes: Some(conditions.message_size_bytes),
        }
        .check()?;
        Ok(Pacing {
            conditions,
            rate_bps,
            mtu_bytes,
        })
    }

    /// The messages.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// The rate of user data, in bit/s.
    pub fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// Maximum size of an IP packet, in bytes.
    pub fn mtu_bytes(&self) -> u32 {
        self.mtu_bytes
    }

    /// Bytes of a message with the headers that queueing disciplines count.
    pub fn wire_bytes(&self) -> u32 {
        self.conditions.wire_bytes(self.mtu_bytes)
    }

    /// The rate with those headers, in whole bytes per second, as `SO_MAX_PACING_RATE` and
    /// netperf's `-q` take it. The fraction is cut off, as the paper's `expr` does.
    pub fn pacing_bytes_per_second(&self) -> u64 {
        let (rate, wire, message) = self.numbers();
        u64::try_from(rate / 8 * wire / message).unwrap_or(u64::MAX)
    }

    /// The rate with those headers, in bit/s.
    pub fn pacing_bps(&self) -> f64 {
        let (rate, wire, message) = self.numbers();
        rate as f64 * wire as f64 / message as f64
    }

    fn numbers(&self) -> (u128, u128, u128) {
        (
            u128::from(self.rate_bps),
            u128::from(self.wire_bytes()),
            u128::from(self.conditions.message_size_bytes),
        )
    }

    /// Messages per second.
    pub fn messages_per_second(&self) -> f64 {
        self.rate_bps as f64 / 8.0 / f64::from(self.conditions.message_size_bytes)
    }
}
