//! The parameters that a client sends before its test.

use bitcost_model::conditions::Direction;
use serde_json::Value;

use crate::protocol::{MOST_LENGTH, MOST_STREAMS, Refusal, code};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// UDP, else TCP.
    pub is_udp: bool,
    /// Seen from the client: forward is to the server.
    pub direction: Direction,
    /// Seconds, without those that are omitted; 0: until bytes or blocks are reached.
    pub seconds: u64,
    /// Seconds at the start that do not count.
    pub omit_seconds: u64,
    /// Bytes of all streams after which the client ends the test; 0: not bounded.
    pub bytes: u64,
    /// Blocks of all streams after which the client ends the test; 0: not bounded.
    pub blocks: u64,
    /// Streams in each direction.
    pub streams: usize,
    /// Bytes of each write or datagram.
    pub length: usize,
    /// Bit/s of each stream; 0: as fast as possible.
    pub bitrate: u64,
    /// Blocks that are sent at once where there is a rate; at least 1.
    pub burst: u64,
    /// Bit/s at which the kernel paces each stream; 0: not.
    pub fq_bitrate: u64,
    /// Socket buffers in bytes.
    pub window: Option<u64>,
    pub nodelay: bool,
    pub tos: Option<u8>,
    pub congestion: Option<String>,
    /// `sendfile`.
    pub zerocopy: bool,
    pub dont_fragment: bool,
    /// Numbers of datagrams have 64 bits.
    pub wide_counters: bool,
}

/// Bytes of a datagram's header, and the most of a datagram over IPv4.
const DATAGRAM_BYTES: std::ops::RangeInclusive<u64> = 16..=65_507;

impl Params {
    /// Reads parameters leniently: unknown keys are ignored, the last one of several equal ones
    /// counts, and what a server can do without may be missing.
    pub fn read(json: &[u8]) -> Result<Params, Refusal> {
        let refuse = |what: &str| Refusal::new(code::PARAMS, format!("the parameters {what}"));
        let object: Value = serde_json::from_slice(json).map_err(|_| refuse("are not JSON"))?;
        if !object.is_object() {
            return Err(refuse("are not a JSON object"));
        }
        let number = |key: &str| match object.get(key) {
            None | Some(Value::Null) => Ok(0),
            Some(value) => count(value).ok_or_else(|| refuse(&format!("have no count as `{key}`"))),
        };
        let is_udp = protocol(&object)?;
        let default_length = if is_udp { 1460 } else { 128 * 1024 };
        Ok(Params {
            is_udp,
            direction: match (is_on(&object, "bidirectional"), is_on(&object, "reverse")) {
                (true, _) => Direction::Both,
                (false, true) => Direction::Reverse,
                (false, false) => Direction::Forward,
            },
            seconds: number("time")?,
            omit_seconds: number("omit")?,
            bytes: number("num")?,
            blocks: number("blockcount")?,
            streams: streams(number("parallel")?)?,
            length: length(number("len")?, default_length, is_udp)?,
            bitrate: number("bandwidth")?,
            burst: number("burst")?.clamp(1, 1000),
            fq_bitrate: number("fqrate")?,
            window: Some(number("window")?).filter(|window| *window > 0),
            nodelay: is_on(&object, "nodelay"),
            tos: object
                .get("TOS")
                .and_then(whole)
                .and_then(|tos| tos.try_into().ok()),
            congestion: object["congestion"].as_str().map(str::to_owned),
            zerocopy: is_on(&object, "zerocopy"),
            dont_fragment: is_on(&object, "dont_fragment"),
            wide_counters: is_on(&object, "udp_counters_64bit"),
        })
    }

    /// The directions in the order in which the client makes their streams: first those that the
    /// server receives. True: the server receives.
    pub fn receives(&self) -> Vec<bool> {
        let all = |receives| std::iter::repeat_n(receives, self.streams);
        match self.direction {
            Direction::Forward => all(true).collect(),
            Direction::Reverse => all(false).collect(),
            Direction::Both => all(true).chain(all(false)).collect(),
        }
    }

    /// Bit/s of all streams of one direction; absent where they send as fast as possible.
    pub fn total_bitrate(&self) -> Option<u64> {
        let bounds = [self.bitrate, self.fq_bitrate];
        let bound = bounds.into_iter().filter(|rate| *rate > 0).min()?;
        Some(bound.saturating_mul(self.streams as u64))
    }
}

/// Whether the test is of UDP.
fn protocol(object: &Value) -> Result<bool, Refusal> {
    let refuse = |code, what: &str| {
        Err(Refusal::new(
            code,
            format!("{what} is not supported; TCP and UDP are"),
        ))
    };
    match ["tcp", "udp", "sctp", "mptcp"].map(|key| is_on(object, key)) {
        [.., true] => refuse(code::PROTOCOL, "MPTCP"),
        [_, _, true, _] => refuse(code::NO_SCTP, "SCTP"),
        [true, false, ..] => Ok(false),
        [false, true, ..] => Ok(true),
        _ => refuse(code::PROTOCOL, "a test of no or several protocols"),
    }
}

fn streams(asked: u64) -> Result<usize, Refusal> {
    match asked {
        0 => Ok(1),
        1..=MOST_STREAMS => Ok(asked as usize),
        _ => Err(Refusal::new(
            code::STREAMS,
            format!("{asked} streams; a test has at most {MOST_STREAMS}"),
        )),
    }
}

fn length(asked: u64, default: usize, is_udp: bool) -> Result<usize, Refusal> {
    match asked {
        0 => Ok(default),
        _ if is_udp && !DATAGRAM_BYTES.contains(&asked) => Err(Refusal::new(
            code::UDP_BLOCK_SIZE,
            format!("datagrams of {asked} bytes; they have 16 to 65507"),
        )),
        1..=MOST_LENGTH => Ok(asked as usize),
        _ => Err(Refusal::new(
            code::BLOCK_SIZE,
            format!("blocks of {asked} bytes; they have at most {MOST_LENGTH}"),
        )),
    }
}

/// A whole number; absent for another type, and for a fraction. Versions before 3.14 write -1 as
/// 2^64 - 1, so that numbers from 2^63 on are -1.
pub fn whole(value: &Value) -> Option<i64> {
    match value.as_f64()? {
        _ if value.is_i64() => value.as_i64(),
        number if number >= 9.2e18 => Some(-1),
        number if number.fract() == 0.0 && number > -9.2e18 => Some(number as i64),
        _ => None,
    }
}

/// A count; absent for another type, and below 0.
pub fn count(value: &Value) -> Option<u64> {
    whole(value)?.try_into().ok()
}

/// Whether a switch is on: the key is there and neither `false`, `0` nor `null`.
pub fn is_on(object: &Value, key: &str) -> bool {
    match object.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_of_equal_keys_counts_and_switches_have_many_forms() {
        let params =
            Params::read(br#"{"udp":1,"parallel":3,"parallel":1e0,"reverse":"yes","nodelay":0}"#)
                .unwrap();
        assert_eq!((params.streams, params.nodelay), (1, false));
        assert_eq!(params.receives(), [false]);
    }

    #[test]
    fn params_of_a_stock_client_are_read() {
        let sent = br#"{"tcp":true,"omit":0,"time":0,"num":262144,"blockcount":0,"parallel":2,"len":8192,"bandwidth":20000000,"pacing_timer":1000,"client_version":"3.12"}"#;
        let params = Params::read(sent).unwrap();
        assert_eq!(
            (params.is_udp, params.direction),
            (false, Direction::Forward)
        );
        assert_eq!(
            (params.seconds, params.bytes, params.length),
            (0, 262_144, 8192)
        );
        assert_eq!(params.total_bitrate(), Some(40_000_000));
        assert_eq!(params.receives(), [true, true]);
    }
}
