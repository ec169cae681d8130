//! The bounds of numeric settings. They apply to studies, command lines and the data of other
//! processes.

use super::{Conditions, Mss, ReceiveSize, TRANSACTION_MAX, TRANSACTION_RATE_MAX};
use crate::Invalid;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    /// Bytes of all that a run sends, whose letters are powers of 1000.
    TotalBytes,
    Count,
    /// The unit at the end of the setting's name, `ns`, `us` or `ms`; people may write another one.
    Named(&'static str),
    BitsPerSecond,
    /// Milliseconds, which people write in seconds or with a unit.
    Milliseconds,
}

/// The smallest and the largest value of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The setting, as studies name it.
    pub name: &'static str,
    pub unit: Unit,
    pub least: u64,
    pub most: u64,
}

impl Bounds {
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

/// A row is: the constant, the setting, its unit, its smallest and its largest value, and what conditions have of it.
macro_rules! bounds {
    ($($constant:ident $name:literal $unit:expr, $least:expr, $most:expr, $value:expr;)*) => {
        $(
            #[doc = concat!("Bounds of `", $name, "`.")]
            pub const $constant: Bounds =
                Bounds { name: $name, unit: $unit, least: $least, most: $most };
        )*

        /// Each bounds with the number that they are for; absent where the conditions have none.
        const NUMBERS: &[(&Bounds, fn(&Conditions) -> Option<u64>)] = &[$((&$constant, $value)),*];
    };
}

bounds! {
    FLOWS "flows" Unit::Count, 1, 1000, |of| wide(of.flows);
    MESSAGE_SIZE_BYTES "message_size_bytes" Unit::Bytes, 1, MESSAGE_MAX, |of| wide(of.message_size_bytes);
    RECEIVE_SIZE_BYTES "receive_size_bytes" Unit::Bytes, 1, MESSAGE_MAX, |of| match of.receive_size_bytes {
        ReceiveSize::Bytes(bytes) => wide(bytes),
        ReceiveSize::Auto | ReceiveSize::Message => None,
    };
    MSS "mss" Unit::Bytes, 88, 32_767, |of| match of.mss {
        Some(Mss::Bytes(bytes)) => wide(bytes),
        _ => None,
    };
    SEND_WORK_NS "send_work_ns" Unit::Named("ns"), 0, 1_000_000, |of| wide(of.buffers.send_work_ns);
    RECEIVE_WORK_NS "receive_work_ns" Unit::Named("ns"), 0, 1_000_000, |of| wide(of.buffers.receive_work_ns);
    SEND_BUFFER_BYTES "send_buffer_bytes" Unit::Bytes, 1, BUFFER_MAX, |of| wide(of.send_buffer_bytes);
    RECEIVE_BUFFER_BYTES "receive_buffer_bytes" Unit::Bytes, 1, BUFFER_MAX, |of| wide(of.receive_buffer_bytes);
    RECEIVE_LOW_WATER_BYTES "receive_low_water_bytes" Unit::Bytes, 1, BUFFER_MAX, |of| wide(of.receive_low_water_bytes);
    NOTSENT_LOW_WATER_BYTES "notsent_low_water_bytes" Unit::Bytes, 1, BUFFER_MAX, |of| wide(of.notsent_low_water_bytes);
    MESSAGES_PER_CALL "messages_per_call" Unit::Count, 1, 128, |of| wide(of.messages_per_call);
    REQUEST_SIZE_BYTES "request_size_bytes" Unit::Bytes, 1, TRANSACTION_MAX as u64, |of| wide(of.request_size_bytes);
    RESPONSE_SIZE_BYTES "response_size_bytes" Unit::Bytes, 1, TRANSACTION_MAX as u64, |of| wide(of.response_size_bytes);
    RECEIVER_DELAY_US "receiver_delay_us" Unit::Named("us"), 0, 1_000_000, |of| wide(of.receiver_delay_us);
    BUSY_POLL_US "busy_poll_us" Unit::Named("us"), 0, 1_000_000, |of| wide(of.busy_poll_us);
    DSCP "dscp" Unit::Count, 0, 63, |of| wide(of.dscp);
    RATE_BPS "rate_bps" Unit::BitsPerSecond, 1, RATE_MAX, |of| of.rate_bps;
    MESSAGE_RATE "message_rate" Unit::Count, 1, 1_000_000_000, |of| of.message_rate;
    BURST_MESSAGES "burst_messages" Unit::Count, 1, 1_000_000, |of| wide(of.burst_messages);
    TRANSACTION_RATE "transaction_rate" Unit::Count, 1, TRANSACTION_RATE_MAX as u64, |of| wide(of.transaction_rate);
    STOP_BYTES "stop_bytes" Unit::TotalBytes, 1, COUNT_MAX, |of| of.stop_bytes;
    STOP_MESSAGES "stop_messages" Unit::Count, 1, COUNT_MAX, |of| of.stop_messages;
    WARMUP_S "warmup_s" Unit::Milliseconds, 0, HOUR_MS, |of| wide(of.warmup_ms);
    DURATION_S "duration_s" Unit::Milliseconds, 20, HOUR_MS, |of| wide(of.duration_ms);
    IDLE_BASELINE_S "idle_baseline_s" Unit::Milliseconds, 0, HOUR_MS, |of| wide(of.idle_baseline_ms);
}

fn wide(number: impl Into<Option<u32>>) -> Option<u64> {
    number.into().map(u64::from)
}

impl Conditions {
    /// Checks every number that memory, threads and times depend on. The default of each setting is
    /// allowed.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed.
    pub fn check_bounds(&self) -> Result<(), Invalid> {
        let usual = Conditions::default();
        for (bounds, value) in NUMBERS {
            let asked = value(self).filter(|asked| Some(*asked) != value(&usual));
            if let Some(value) = asked.filter(|value| !bounds.contain(*value)) {
                return Err(Invalid(format!(
                    "{} is {value}; allowed: {}",
                    bounds.name,
                    bounds.allowed()
                )));
            }
        }
        self.check_buffers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
                    .is_err_and(|found| found.0.starts_with(wanted)),
                "{wanted}"
            );
        }
        for row in WORKLOADS {
            assert_eq!(Conditions::of(row.workload).check_bounds(), Ok(()));
        }
    }
}
