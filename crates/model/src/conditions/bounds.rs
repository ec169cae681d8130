//! The bounds of numeric settings. They apply to studies, command lines and the data of other
//! processes.

use super::{Conditions, Mss, ReceiveSize, TRANSACTION_MAX, TRANSACTION_RATE_MAX};

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of a size.
    Bytes,
    /// Bytes of all that a run sends, whose letters are powers of 1000.
    TotalBytes,
    /// A number of items.
    Count,
    /// The unit at the end of the setting's name, `ns`, `us` or `ms`; people may write another one.
    Named(&'static str),
    /// Bits per second.
    BitsPerSecond,
    /// Milliseconds, which people write in seconds or with a unit.
    Milliseconds,
}

/// The smallest and the largest value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The setting, as studies name it.
    pub name: &'static str,
    /// The unit of the bounds.
    pub unit: Unit,
    /// The lower bound.
    pub least: u64,
    /// The upper bound.
    pub most: u64,
}

impl Bounds {
    const fn new(name: &'static str, unit: Unit, least: u64, most: u64) -> Bounds {
        Bounds {
            name,
            unit,
            least,
            most,
        }
    }

    /// Whether the value is within the bounds.
    pub fn contain(&self, value: u64) -> bool {
        (self.least..=self.most).contains(&value)
    }

    /// The allowed values, in words.
    pub fn allowed(&self) -> String {
        let Bounds { least, most, .. } = self;
        match self.unit {
            Unit::Bytes => format!("bytes from {least} to {most}, such as 8192 or \"64KiB\""),
            Unit::TotalBytes => format!(
                "bytes from {least} to {most}, such as 1000000 or \"100M\" (k, M and G are powers of 1000)"
            ),
            Unit::BitsPerSecond => {
                let most = most / 1_000_000_000_000;
                format!("bit/s from {least} to {most}T, such as \"100M\" or \"1 Gbit/s\"")
            }
            Unit::Count => format!("a whole number from {least} to {most}"),
            Unit::Named(unit) => format!(
                "a whole number of {unit} from {least} to {most}, or a time such as \"50{unit}\""
            ),
            Unit::Milliseconds => format!(
                "seconds from {} to {}, or a time such as \"250ms\"",
                *least as f64 / 1000.0,
                most / 1000
            ),
        }
    }
}

const MESSAGE_MAX: u64 = 1 << 24;
const RATE_MAX: u64 = 10_000_000_000_000;
const COUNT_MAX: u64 = 1 << 50;
const BUFFER_MAX: u64 = 0x3fff_ffff;
const HOUR_MS: u64 = 3_600_000;

/// Bounds of `message_size_bytes`.
pub const MESSAGE_SIZE_BYTES: Bounds =
    Bounds::new("message_size_bytes", Unit::Bytes, 1, MESSAGE_MAX);
/// Bounds of `buffer_alignment_bytes`.
pub const BUFFER_ALIGNMENT_BYTES: Bounds =
    Bounds::new("buffer_alignment_bytes", Unit::Bytes, 1, 1 << 24);
/// Bounds of `buffer_offset_bytes`.
pub const BUFFER_OFFSET_BYTES: Bounds = Bounds::new("buffer_offset_bytes", Unit::Bytes, 0, 1 << 24);
/// Bounds of `ring_buffers`.
pub const RING_BUFFERS: Bounds = Bounds::new("ring_buffers", Unit::Count, 1, 4096);
/// Bounds of `send_work_ns`.
pub const SEND_WORK_NS: Bounds = Bounds::new("send_work_ns", Unit::Named("ns"), 0, 1_000_000);
/// Bounds of `receive_work_ns`.
pub const RECEIVE_WORK_NS: Bounds = Bounds::new("receive_work_ns", Unit::Named("ns"), 0, 1_000_000);
/// Bounds of `receive_size_bytes`.
pub const RECEIVE_SIZE_BYTES: Bounds =
    Bounds::new("receive_size_bytes", Unit::Bytes, 1, MESSAGE_MAX);
/// Bounds of `mss`.
pub const MSS: Bounds = Bounds::new("mss", Unit::Bytes, 88, 32_767);
/// Bounds of `send_buffer_bytes`.
pub const SEND_BUFFER_BYTES: Bounds = Bounds::new("send_buffer_bytes", Unit::Bytes, 1, BUFFER_MAX);
/// Bounds of `receive_buffer_bytes`.
pub const RECEIVE_BUFFER_BYTES: Bounds =
    Bounds::new("receive_buffer_bytes", Unit::Bytes, 1, BUFFER_MAX);
/// Bounds of `receive_low_water_bytes`.
pub const RECEIVE_LOW_WATER_BYTES: Bounds =
    Bounds::new("receive_low_water_bytes", Unit::Bytes, 1, BUFFER_MAX);
/// Bounds of `notsent_low_water_bytes`.
pub const NOTSENT_LOW_WATER_BYTES: Bounds =
    Bounds::new("notsent_low_water_bytes", Unit::Bytes, 1, BUFFER_MAX);
/// Bounds of `messages_per_call`.
pub const MESSAGES_PER_CALL: Bounds = Bounds::new("messages_per_call", Unit::Count, 1, 128);
/// Bounds of `dscp`.
pub const DSCP: Bounds = Bounds::new("dscp", Unit::Count, 0, 63);
/// Bounds of `priority`.
pub const PRIORITY: Bounds = Bounds::new("priority", Unit::Count, 0, 6);
/// Bounds of `busy_poll_us`.
pub const BUSY_POLL_US: Bounds = Bounds::new("busy_poll_us", Unit::Named("us"), 0, 1_000_000);
/// Bounds of `receiver_delay_us`.
pub const RECEIVER_DELAY_US: Bounds =
    Bounds::new("receiver_delay_us", Unit::Named("us"), 0, 1_000_000);
/// Bounds of `rate_bps`.
pub const RATE_BPS: Bounds = Bounds::new("rate_bps", Unit::BitsPerSecond, 1, RATE_MAX);
/// Bounds of `message_rate`.
pub const MESSAGE_RATE: Bounds = Bounds::new("message_rate", Unit::Count, 1, 1_000_000_000);
/// Bounds of `burst_messages`.
pub const BURST_MESSAGES: Bounds = Bounds::new("burst_messages", Unit::Count, 1, 1_000_000);
/// Bounds of `flows`.
pub const FLOWS: Bounds = Bounds::new("flows", Unit::Count, 1, 1000);
/// Bounds of `stop_bytes`.
pub const STOP_BYTES: Bounds = Bounds::new("stop_bytes", Unit::TotalBytes, 1, COUNT_MAX);
/// Bounds of `stop_messages`.
pub const STOP_MESSAGES: Bounds = Bounds::new("stop_messages", Unit::Count, 1, COUNT_MAX);
/// Bounds of `stop_transactions`.
pub const STOP_TRANSACTIONS: Bounds = Bounds::new("stop_transactions", Unit::Count, 1, COUNT_MAX);
/// Bounds of `request_size_bytes`.
pub const REQUEST_SIZE_BYTES: Bounds =
    Bounds::new("request_size_bytes", Unit::Bytes, 1, TRANSACTION_MAX as u64);
/// Bounds of `response_size_bytes`.
pub const RESPONSE_SIZE_BYTES: Bounds = Bounds::new(
    "response_size_bytes",
    Unit::Bytes,
    1,
    TRANSACTION_MAX as u64,
);
/// Bounds of `flow_label`.
pub const FLOW_LABEL: Bounds = Bounds::new("flow_label", Unit::Count, 1, 0xf_ffff);
/// Bounds of `idle_baseline_s`.
pub const IDLE_BASELINE_S: Bounds = Bounds::new("idle_baseline_s", Unit::Milliseconds, 0, HOUR_MS);
/// Bounds of `transaction_rate`.
pub const TRANSACTION_RATE: Bounds = Bounds::new(
    "transaction_rate",
    Unit::Count,
    1,
    TRANSACTION_RATE_MAX as u64,
);
/// Bounds of `request_timeout_ms`.
pub const REQUEST_TIMEOUT_MS: Bounds =
    Bounds::new("request_timeout_ms", Unit::Named("ms"), 1, 60_000);
/// Bounds of `warmup_s`.
pub const WARMUP_S: Bounds = Bounds::new("warmup_s", Unit::Milliseconds, 0, HOUR_MS);
/// Bounds of `duration_s`.
pub const DURATION_S: Bounds = Bounds::new("duration_s", Unit::Milliseconds, 20, HOUR_MS);

impl Conditions {
    /// Checks every number that memory, threads and times depend on. The default of each setting is
    /// allowed.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed.
    pub fn check_bounds(&self) -> Result<(), String> {
        let usual = Conditions::default().numbers();
        for ((bounds, value), (_, usual)) in self.numbers().into_iter().zip(usual) {
            let asked = value.filter(|value| Some(*value) != usual);
            if let Some(value) = asked.filter(|value| !bounds.contain(*value)) {
                return Err(format!(
                    "{} is {value}; allowed: {}",
                    bounds.name,
                    bounds.allowed()
                ));
            }
        }
        self.check_buffers()
    }

    fn numbers(&self) -> Vec<(&'static Bounds, Option<u64>)> {
        let some = |value: u32| Some(u64::from(value));
        let receive_size = match self.receive_size_bytes {
            ReceiveSize::Bytes(bytes) => some(bytes),
            ReceiveSize::Auto | ReceiveSize::Message => None,
        };
        let mss = match self.mss {
            Some(Mss::Bytes(bytes)) => some(bytes),
            _ => None,
        };
        vec![
            (&FLOWS, some(self.flows)),
            (&MESSAGE_SIZE_BYTES, some(self.message_size_bytes)),
            (&RECEIVE_SIZE_BYTES, receive_size),
            (&MSS, mss),
            (&RING_BUFFERS, some(self.buffers.ring)),
            (
                &BUFFER_ALIGNMENT_BYTES,
                self.buffers.alignment_bytes.map(u64::from),
            ),
            (&BUFFER_OFFSET_BYTES, some(self.buffers.offset_bytes)),
            (&SEND_WORK_NS, some(self.buffers.send_work_ns)),
            (&RECEIVE_WORK_NS, some(self.buffers.receive_work_ns)),
            (&SEND_BUFFER_BYTES, self.send_buffer_bytes.map(u64::from)),
            (
                &RECEIVE_BUFFER_BYTES,
                self.receive_buffer_bytes.map(u64::from),
            ),
            (
                &RECEIVE_LOW_WATER_BYTES,
                self.receive_low_water_bytes.map(u64::from),
            ),
            (
                &NOTSENT_LOW_WATER_BYTES,
                self.notsent_low_water_bytes.map(u64::from),
            ),
            (&MESSAGES_PER_CALL, self.messages_per_call.map(u64::from)),
            (&REQUEST_SIZE_BYTES, some(self.request_size_bytes)),
            (&RESPONSE_SIZE_BYTES, some(self.response_size_bytes)),
            (&RECEIVER_DELAY_US, some(self.receiver_delay_us)),
            (&BUSY_POLL_US, self.busy_poll_us.map(u64::from)),
            (&RATE_BPS, self.rate_bps),
            (&MESSAGE_RATE, self.message_rate),
            (&BURST_MESSAGES, self.burst_messages.map(u64::from)),
            (&TRANSACTION_RATE, self.transaction_rate.map(u64::from)),
            (&REQUEST_TIMEOUT_MS, some(self.request_timeout_ms)),
            (&STOP_BYTES, self.stop_bytes),
            (&STOP_MESSAGES, self.stop_messages),
            (&STOP_TRANSACTIONS, self.stop_transactions),
            (&WARMUP_S, some(self.warmup_ms)),
            (&DURATION_S, some(self.duration_ms)),
            (&IDLE_BASELINE_S, self.idle_baseline_ms.map(u64::from)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::Buffers;
    use crate::workload::WORKLOADS;

    #[test]
    fn what_a_command_line_refuses_is_refused_here_too() {
        let refused = [
            (
                Conditions {
                    flows: u32::MAX,
                    ..Conditions::default()
                },
                "flows is 4294967295; allowed: a whole number",
            ),
            (
                Conditions {
                    flows: 0,
                    ..Conditions::default()
                },
                "flows is 0",
            ),
            (
                Conditions {
                    message_size_bytes: 0,
                    ..Conditions::default()
                },
                "message_size_bytes is 0",
            ),
            (
                Conditions {
                    buffers: Buffers {
                        ring: u32::MAX,
                        ..Buffers::default()
                    },
                    ..Conditions::default()
                },
                "ring_buffers is 4294967295",
            ),
            (
                Conditions {
                    warmup_ms: u32::MAX,
                    ..Conditions::default()
                },
                "warmup_s is 4294967295",
            ),
        ];
        for (conditions, wanted) in refused {
            assert!(
                conditions
                    .check_bounds()
                    .is_err_and(|found| found.starts_with(wanted)),
                "{wanted}"
            );
        }
        for row in WORKLOADS {
            assert_eq!(Conditions::of(row.workload).check_bounds(), Ok(()));
        }
    }
}
