//! The knob "offloads": features of a device, by the kernel's names and by ethtool's group names.
//!
//! The kernel reports success for features that it did not set (a fixed one, or `lro` on a veth),
//! and turning one off can turn off others. So every bit is read back, and all former requests are
//! restored in one message.

use std::collections::BTreeMap;

use bitcost_model::host_settings::{
    FEATURE_GROUPS, HostSetting, OFFLOADS, OffloadSet, Offloads as Request,
};
use bitcost_model::near::did_you_mean;
use bitcost_sys::netlink::{Ethtool, Feature};

use crate::HostError;
use crate::device::check_name;
use crate::knob::Knob;
use crate::values::{FIXED, Values};

/// The knob. A request names bits or groups, or a set of the groups tso, gso, gro and lro.
pub struct Offloads;

impl Knob for Offloads {
    fn name(&self) -> &'static str {
        OFFLOADS.setting
    }

    fn observe(&self, device: &str) -> Result<Values, HostError> {
        check_name(device)?;
        let features = Ethtool::open()?.features(device)?.into_iter();
        Ok(features.map(|(name, bit)| (name, word(bit))).collect())
    }

    fn plan(&self, device: &str, now: &Values, request: &HostSetting) -> Result<Values, HostError> {
        let features = match request {
            HostSetting::Offloads(Request::Set(set)) => return Ok(plan_set(now, *set)),
            HostSetting::Offloads(Request::Features(features)) => features,
            _ => return Err(self.not_its(request)),
        };
        let mut asked = Values::new();
        for (name, on) in features {
            let word = on_or_off(*on);
            let refuse = |why| HostError::cannot(format!("set {name} of {device} to {word}"), why);
            let members = named(now, name).map_err(refuse)?;
            asked.extend(members.into_iter().map(|name| (name, word.to_owned())));
        }
        Ok(asked)
    }

    fn write(&self, device: &str, _now: &Values, values: &Values) -> Result<(), HostError> {
        let requests: BTreeMap<String, bool> = values
            .iter()
            .filter_map(|(name, word)| Some((name.clone(), wanted(word)?)))
            .collect();
        if requests.is_empty() {
            return Ok(());
        }
        Ok(Ethtool::open()?.set_features(device, &requests)?)
    }

    fn agrees(&self, _name: &str, asked: &str, actual: &str) -> bool {
        is_on(asked) == is_on(actual)
    }
}

/// Whether a bit's value, as observed, is "on".
pub fn is_on(word: &str) -> bool {
    word.split(' ').next() == Some("on")
}

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// A bit as `ethtool -k` shows it.
fn word(bit: Feature) -> String {
    let (active, wanted) = (on_or_off(bit.active), on_or_off(bit.wanted));
    match bit.is_changeable() {
        false => format!("{active} {FIXED}"),
        true if bit.wanted != bit.active => format!("{active} [requested {wanted}]"),
        true => active.to_owned(),
    }
}

/// The request that a bit's value corresponds to; `None` for a value that cannot be changed.
fn wanted(word: &str) -> Option<bool> {
    match word {
        "on" | "off [requested on]" => Some(true),
        "off" | "on [requested off]" => Some(false),
        _ => None,
    }
}

fn is_fixed(word: &str) -> bool {
    word.ends_with(FIXED)
}

/// The bits of one of ethtool's groups.
fn members<'a>(now: &'a Values, group: &str) -> Vec<(&'a String, &'a String)> {
    let pattern = FEATURE_GROUPS
        .iter()
        .find(|(short, long, _)| *short == group || *long == group)
        .map(|(_, _, bits)| *bits);
    let is_member = |name: &str| match pattern.and_then(|pattern| pattern.split_once('*')) {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => Some(name) == pattern,
    };
    now.iter().filter(|(name, _)| is_member(name)).collect()
}

/// The bits to request for the groups of a set.
///
/// A bit that the device cannot change is requested only when the set cannot be applied because of
/// it, so that it is reported: it is on and should be off, or its whole group cannot be turned on.
/// LRO may be missing: few devices have it.
fn plan_set(now: &Values, set: OffloadSet) -> Values {
    let mut asked = Values::new();
    for group in OffloadSet::GROUPS {
        let on = set.turns_on(group);
        let members = members(now, group);
        let is_optional = group == "lro" || members.iter().any(|(_, word)| !is_fixed(word));
        for (name, word) in members {
            let is_obstacle = is_fixed(word) && is_on(word) != on && (!on || !is_optional);
            if !is_fixed(word) || is_obstacle {
                asked.insert(name.clone(), on_or_off(on).to_owned());
            }
        }
    }
    asked
}

/// The bits that a name means: one bit, or the bits of a group that can be changed (all of them
/// when none can).
fn named(now: &Values, name: &str) -> Result<Vec<String>, String> {
    if now.contains_key(name) {
        return Ok(vec![name.to_owned()]);
    }
    let members = members(now, name);
    let changeable: Vec<String> = members
        .iter()
        .filter(|(_, word)| !is_fixed(word))
        .map(|(name, _)| (*name).clone())
        .collect();
    if !changeable.is_empty() {
        return Ok(changeable);
    }
    if members.is_empty() {
        let shorts = FEATURE_GROUPS
            .iter()
            .flat_map(|(short, long, _)| [*short, *long]);
        let hint = did_you_mean(name, shorts.chain(now.keys().map(String::as_str)));
        return Err(format!("this kernel has no such feature{hint}"));
    }
    Ok(members.into_iter().map(|(name, _)| name.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(bits: &[(&str, &str)]) -> Values {
        bits.iter()
            .map(|(name, word)| ((*name).to_owned(), (*word).to_owned()))
            .collect()
    }

    fn planned(now: &Values, set: OffloadSet) -> Values {
        let request = HostSetting::Offloads(Request::Set(set));
        Offloads.plan("eth0", now, &request).expect("a set")
    }

    fn names(plan: &Values) -> Vec<&str> {
        plan.keys().map(String::as_str).collect()
    }

    #[test]
    fn groups_follow_from_the_reported_names() {
        let found = state(&[
            ("rx-gro", "off"),
            ("rx-lro", "off [fixed]"),
            ("tx-generic-segmentation", "on"),
            ("tx-tcp-accecn-segmentation", "on"),
            ("tx-tcp6-segmentation", "on"),
            ("tx-udp-segmentation", "on"),
        ]);
        let off = planned(&found, OffloadSet::Off);
        assert_eq!(
            names(&off),
            [
                "rx-gro",
                "tx-generic-segmentation",
                "tx-tcp-accecn-segmentation",
                "tx-tcp6-segmentation"
            ]
        );
        assert!(off.values().all(|word| word == "off"));
        assert_eq!(planned(&found, OffloadSet::On).len(), off.len());
        let tso_only = planned(&found, OffloadSet::TsoOnly);
        assert!(
            tso_only
                .iter()
                .all(|(name, word)| (word == "on") == name.starts_with("tx-tcp")),
            "{tso_only:?}"
        );
    }

    #[test]
    fn word_of_a_bit_contains_its_request() {
        let bit = |hw, wanted, active| Feature {
            hw,
            wanted,
            active,
            nochange: false,
        };
        for (request, active) in [(true, false), (false, true), (true, true)] {
            assert_eq!(wanted(&word(bit(true, request, active))), Some(request));
        }
        assert_eq!(wanted(&word(bit(false, true, false))), None);
    }
}
