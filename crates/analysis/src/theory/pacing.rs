//! From a rate of user data to the rate that a queueing discipline is given, as the paper's
//! footnote 7 computes it.

use bitcost_model::conditions::Conditions;
use serde_json::{Value, json};

use crate::theory::framing::{Counted, Framing, Transport};
use crate::theory::goodput::Goodput;
use crate::theory::show;

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
    pub fn new(conditions: Conditions, rate_bps: u64, mtu_bytes: u32) -> Result<Pacing, String> {
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

    /// The answer for people.
    pub fn text(&self) -> String {
        let (message, wire) = (self.conditions.message_size_bytes, self.wire_bytes());
        let (user, paced) = (self.rate_bps / 8, self.pacing_bytes_per_second());
        let rows = [
            (
                "user data",
                format!("{} = {user} byte/s", show::short_rate(self.rate_bps as f64)),
            ),
            (
                "messages",
                format!(
                    "{user} ÷ {message} = {:.1} per second",
                    self.messages_per_second()
                ),
            ),
            (
                "message with headers",
                format!("{message} + {} = {wire} B", wire - message),
            ),
            (
                "pacing rate",
                format!("{user} × {wire} ÷ {message} = {paced} byte/s"),
            ),
            (
                "the same in bit/s",
                format!(
                    "{:.0} bit/s, {}",
                    self.pacing_bps(),
                    show::rate(self.pacing_bps())
                ),
            ),
        ];
        let rows = rows.map(|(name, value)| (name.to_owned(), value));
        let name = self.conditions.workload.name();
        format!(
            "{name}, messages of {message} bytes, MTU {}\n\n{}\nHeaders are those that fq counts: Ethernet, IP and transport, without check sequence, preamble and gap.\n\
             byte/s is what SO_MAX_PACING_RATE and netperf's -q take; tc's maxrate takes the bit/s.\n",
            self.mtu_bytes,
            show::lines(&rows)
        )
    }

    /// The answer for programs.
    pub fn json(&self) -> Value {
        json!({
            "workload": self.conditions.workload.name(),
            "rate_bps": self.rate_bps,
            "mtu_bytes": self.mtu_bytes,
            "message_size_bytes": self.conditions.message_size_bytes,
            "message_with_headers_bytes": self.wire_bytes(),
            "messages_per_second": self.messages_per_second(),
            "pacing_bytes_per_second": self.pacing_bytes_per_second(),
            "pacing_bps": self.pacing_bps(),
        })
    }
}
