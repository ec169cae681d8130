//! The knobs "rings", "coalesce" and "channels": the rings of a device, its interrupt coalescing, and its number of queues.

use std::collections::BTreeMap;

use bitcost_model::host_settings::{self, HostSetting};
use bitcost_model::near::did_you_mean;
use bitcost_sys::netlink::{CHANNELS, COALESCE, Ethtool, RINGS};

use crate::HostError;
use crate::device::check_name;
use crate::knob::Knob;
use crate::snapshot;
use crate::values::Values;

/// A knob with several numbers that ethtool reads and sets together.
pub struct Tuning {
    name: &'static str,
    group: bitcost_sys::netlink::TuningGroup,
    /// The option of the program ethtool that sets it.
    option: &'static str,
    side_effects: fn(&str) -> Result<Values, HostError>,
}

pub const RING_SIZES: Tuning = Tuning {
    name: host_settings::RINGS.setting,
    group: RINGS,
    option: "-G",
    side_effects: |_| Ok(Values::new()),
};

pub const CHANNEL_COUNTS: Tuning = Tuning {
    name: host_settings::CHANNELS.setting,
    group: CHANNELS,
    option: "-L",
    side_effects: snapshot::side_effects_of_channels,
};

pub const INTERRUPT_COALESCING: Tuning = Tuning {
    name: host_settings::COALESCE.setting,
    group: COALESCE,
    option: "-C",
    side_effects: |_| Ok(Values::new()),
};

impl Tuning {
    /// The kernel's refusal, with what to do where the driver is busy, else with what it has.
    fn refused(&self, device: &str, error: bitcost_sys::netlink::Error) -> HostError {
        if !error.is_busy() {
            let now = Ethtool::open().and_then(|mut ethtool| ethtool.tuning(&self.group, device));
            return match now {
                Ok(now) => HostError::Numbers { error, now },
                Err(_) => error.into(),
            };
        }
        HostError::Busy {
            device: device.to_owned(),
            option: self.option,
            error,
        }
    }
}

impl Knob for Tuning {
    fn name(&self) -> &'static str {
        self.name
    }

    fn observe(&self, device: &str) -> Result<Values, HostError> {
        check_name(device)?;
        let found = Ethtool::open()?.tuning(&self.group, device)?.into_iter();
        let settable = found.filter(|(name, _)| !self.group.is_limit(name));
        Ok(settable
            .map(|(name, value)| (name.to_owned(), value.to_string()))
            .collect())
    }

    fn side_effects(&self, device: &str) -> Result<Values, HostError> {
        (self.side_effects)(device)
    }

    fn plan(&self, device: &str, now: &Values, request: &HostSetting) -> Result<Values, HostError> {
        let (HostSetting::Rings(numbers)
        | HostSetting::Channels(numbers)
        | HostSetting::Coalesce(numbers)) = request
        else {
            return Err(self.not_its(request));
        };
        for (name, value) in numbers {
            let refuse = |why| {
                Err(HostError::cannot(
                    format!("set {name} of {device} to {value}"),
                    why,
                ))
            };
            if !self.group.names().any(|known| known == name) {
                let all: Vec<&str> = self.group.names().collect();
                return refuse(format!(
                    "unknown{}; allowed: {}",
                    did_you_mean(name, all.iter().copied()),
                    all.join(", ")
                ));
            }
            if !now.contains_key(name) {
                // What a driver does not have is off.
                if name.starts_with("adaptive_") && *value == 0 {
                    continue;
                }
                let offered: Vec<&str> = now.keys().map(String::as_str).collect();
                return refuse(format!(
                    "its driver does not support it; supported: {}",
                    offered.join(", ")
                ));
            }
            let adaptive = format!("adaptive_{}", name.split('_').next().unwrap_or_default());
            let is_on_now = || now.get(&adaptive).is_some_and(|on| on != "0");
            if numbers.get(&adaptive).map_or_else(is_on_now, |on| *on != 0) {
                return refuse(format!(
                    "{adaptive} is on and overrides it; add {adaptive} off"
                ));
            }
        }
        let text = |(name, number): (&String, &u32)| (name.clone(), number.to_string());
        let offered = numbers.iter().filter(|(name, _)| now.contains_key(*name));
        Ok(offered.map(text).collect())
    }

    fn write(&self, device: &str, now: &Values, values: &Values) -> Result<(), HostError> {
        // A value that is already set is not written again: some drivers refuse that.
        let changed = values
            .iter()
            .filter(|(name, value)| now.get(*name) != Some(*value));
        let numbers: BTreeMap<String, u32> = changed
            .filter_map(|(name, value)| Some((name.clone(), value.parse().ok()?)))
            .collect();
        if numbers.is_empty() {
            return Ok(());
        }
        let outcome = Ethtool::open()?.set_tuning(&self.group, device, &numbers);
        outcome.map_err(|error| self.refused(device, error))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use bitcost_sys::netlink::Error;

    use super::*;

    #[test]
    fn a_number_that_adaptive_moderation_overrides_is_refused() {
        let now = [("adaptive_rx", "1"), ("rx_usecs", "8"), ("tx_usecs", "8")];
        let now = Values::from(now.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let planned = |numbers: &[(&str, u32)]| {
            let numbers = numbers
                .iter()
                .map(|(name, number)| ((*name).to_owned(), *number));
            let request = HostSetting::Coalesce(numbers.collect());
            INTERRUPT_COALESCING.plan("eth0", &now, &request)
        };
        let refused = planned(&[("rx_usecs", 10)]).expect_err("overridden");
        assert!(
            refused.to_string().contains("add adaptive_rx off"),
            "{refused}"
        );
        for numbers in [
            &[("rx_usecs", 10), ("adaptive_rx", 0)][..],
            &[("tx_usecs", 10)],
        ] {
            planned(numbers).expect("in effect");
        }
    }

    /// What virtio_net answers while its interface is up.
    #[test]
    fn a_busy_driver_is_an_error_that_says_what_to_do() {
        let said = |errno| {
            let asked = "set the interrupt coalescing of eth0 to tx_frames 0".to_owned();
            let refused = Error::refused(asked, io::Error::from_raw_os_error(errno));
            INTERRUPT_COALESCING.refused("eth0", refused).to_string()
        };
        let busy = said(16);
        for part in [
            "cannot set the interrupt coalescing of eth0 to tx_frames 0: ",
            "busy",
            "leave the setting out",
            "`ip link set eth0 down`, `ethtool -C eth0 …`, `ip link set eth0 up`",
        ] {
            assert!(busy.contains(part), "{part}: {busy}");
        }
        assert!(!said(22).contains("ip link"), "{}", said(22));
    }
}
