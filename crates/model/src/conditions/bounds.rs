//! Whether numbers are within the limits of the settings, for conditions that came from elsewhere than a study or a command
//! line.

use super::{Conditions, Mss, ReceiveSize};
use crate::settings::SETTINGS;
use crate::threads;

impl Conditions {
    /// Checks everything that memory, threads and times depend on, against the limits that [`SETTINGS`] have. What a run
    /// has where nothing is asked is allowed.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed.
    pub fn check_bounds(&self) -> Result<(), String> {
        let usual = Conditions::default().numbers();
        for ((name, value), (_, usual)) in self.numbers().into_iter().zip(usual) {
            let Some(value) = value.filter(|value| Some(*value) != usual) else { continue };
            let kind = SETTINGS.iter().find(|setting| setting.name == name).map(|setting| setting.kind);
            if let Some(kind) = kind.filter(|kind| !kind.range().contains(&value)) {
                return Err(format!("{name} is {value}; allowed: {}", kind.allowed()));
            }
        }
        threads::check(self)?;
        self.check_sizes()
    }

    /// The settings that are numbers, by their names in [`SETTINGS`], in the units of its ranges.
    fn numbers(&self) -> Vec<(&'static str, Option<u64>)> {
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
            ("flows", some(self.flows)),
            ("threads", self.threads.map(u64::from)),
            ("message_size_bytes", some(self.message_size_bytes)),
            ("receive_size_bytes", receive_size),
            ("mss", mss),
            ("ring_buffers", some(self.buffers.ring)),
            ("buffer_alignment_bytes", self.buffers.alignment_bytes.map(u64::from)),
            ("buffer_offset_bytes", some(self.buffers.offset_bytes)),
            ("send_buffer_bytes", self.send_buffer_bytes.map(u64::from)),
            ("receive_buffer_bytes", self.receive_buffer_bytes.map(u64::from)),
            ("receive_low_water_bytes", self.receive_low_water_bytes.map(u64::from)),
            ("request_size_bytes", some(self.request_size_bytes)),
            ("response_size_bytes", some(self.response_size_bytes)),
            ("receiver_delay_us", some(self.receiver_delay_us)),
            ("busy_poll_us", self.busy_poll_us.map(u64::from)),
            ("rate_bps", self.rate_bps),
            ("message_rate", self.message_rate),
            ("burst_messages", self.burst_messages.map(u64::from)),
            ("transaction_rate", self.transaction_rate.map(u64::from)),
            ("request_timeout_ms", some(self.request_timeout_ms)),
            ("stop_bytes", self.stop_bytes),
            ("stop_messages", self.stop_messages),
            ("stop_transactions", self.stop_transactions),
            ("warmup_s", some(self.warmup_ms)),
            ("duration_s", some(self.duration_ms)),
            ("idle_baseline_s", self.idle_baseline_ms.map(u64::from)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::Buffers;
    use crate::conditions::Workload;

    #[test]
    fn every_number_is_one_of_the_settings() {
        for (name, _) in Conditions::default().numbers() {
            let found = SETTINGS.iter().find(|setting| setting.name == name);
            assert!(found.is_some_and(|setting| *setting.kind.range().end() < u64::MAX), "{name}");
        }
    }

    #[test]
    fn what_a_command_line_refuses_is_refused_here_too() {
        let refused = [
            (Conditions { flows: u32::MAX, ..Conditions::default() }, "flows is 4294967295; allowed: a whole number"),
            (Conditions { flows: 0, ..Conditions::default() }, "flows is 0"),
            (Conditions { threads: Some(0), ..Conditions::default() }, "threads is 0"),
            (Conditions { message_size_bytes: 0, ..Conditions::default() }, "message_size_bytes is 0"),
            (
                Conditions { buffers: Buffers { ring: u32::MAX, ..Buffers::default() }, ..Conditions::default() },
                "ring_buffers is 4294967295",
            ),
            (Conditions { warmup_ms: u32::MAX, ..Conditions::default() }, "warmup_s is 4294967295"),
        ];
        for (conditions, wanted) in refused {
            assert!(conditions.check_bounds().is_err_and(|found| found.starts_with(wanted)), "{wanted}");
        }
        for (_, workload) in Workload::NAMES {
            assert_eq!(Conditions::of(workload).check_bounds(), Ok(()));
        }
    }
}
