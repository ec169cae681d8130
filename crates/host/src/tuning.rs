//! The knobs "coalesce" and "channels": when a device interrupts, and how many queues it has.

use std::collections::BTreeMap;

use netlink::{CHANNELS, COALESCE, Ethtool};

use crate::HostError;
use crate::device::{check_name, devices};
use crate::error::near;
use crate::knob::{Knob, Values};
use crate::snapshot;

/// A knob of numbers that ethtool reads and sets together.
pub struct Tuning {
    name: &'static str,
    about: &'static str,
    group: netlink::TuningGroup,
    along: fn(&str) -> Result<Values, HostError>,
}

/// The knob "channels".
pub const CHANNEL_COUNTS: Tuning = Tuning {
    name: "channels",
    about: "queues of a device, where its driver has them",
    group: CHANNELS,
    along: snapshot::along_with_channels,
};

/// The knob "coalesce".
pub const INTERRUPT_COALESCING: Tuning = Tuning {
    name: "coalesce",
    about: "when a device interrupts, where its driver lets it",
    group: COALESCE,
    along: |_| Ok(Values::new()),
};

impl Knob for Tuning {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn check_subject(&self, device: &str) -> Result<(), HostError> {
        check_name(device)
    }

    fn subjects(&self) -> Vec<String> {
        let has_it = |device: &String| self.observe(device).is_ok_and(|values| !values.is_empty());
        devices().into_iter().filter(has_it).collect()
    }

    fn observe(&self, device: &str) -> Result<Values, HostError> {
        check_name(device)?;
        let found = Ethtool::open()?.tuning(&self.group, device)?.into_iter();
        let settable = found.filter(|(name, _)| !self.group.is_limit(name));
        Ok(settable.map(|(name, value)| (name.to_owned(), value.to_string())).collect())
    }

    fn along(&self, device: &str) -> Result<Values, HostError> {
        (self.along)(device)
    }

    fn plan(&self, device: &str, now: &Values, wish: &Values) -> Result<Values, HostError> {
        for (name, value) in wish {
            let refuse = |why| Err(HostError::cannot(format!("set {name} of {device} to {value}"), why));
            if !self.group.names().any(|known| known == name) {
                let all: Vec<&str> = self.group.names().collect();
                return refuse(format!("unknown{}; allowed: {}", near(name, all.iter().copied()), all.join(", ")));
            }
            if value.parse::<u32>().is_err() {
                return refuse("it is no number".to_owned());
            }
            if !now.contains_key(name) {
                let offered: Vec<&str> = now.keys().map(String::as_str).collect();
                return refuse(format!("its driver does not offer it; offered: {}", offered.join(", ")));
            }
        }
        Ok(wish.clone())
    }

    fn write(&self, device: &str, now: &Values, values: &Values) -> Result<(), HostError> {
        // What is so already is not asked for again: a driver may refuse to be told.
        let changed = values.iter().filter(|(name, value)| now.get(*name) != Some(*value));
        let numbers: BTreeMap<String, u32> =
            changed.filter_map(|(name, value)| Some((name.clone(), value.parse().ok()?))).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        Ok(Ethtool::open()?.set_tuning(&self.group, device, &numbers)?)
    }
}
