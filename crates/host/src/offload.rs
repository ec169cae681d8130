//! The knob "offloads": segmentation and aggregation done below or beside the protocol stack.
//!
//! The kernel reports success for features that it did not set (a fixed one, or `lro` on a veth),
//! and turning one off can take others along. So the outcome is read again after each change, and
//! restoring sends the former wish for every changeable feature in one message.

use std::collections::BTreeMap;

use netlink::Ethtool;
use serde::{Deserialize, Serialize};

use crate::HostError;

/// One feature of a device, as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureBit {
    /// Whether the device lets it be changed; ethtool shows the others as "fixed".
    pub changeable: bool,
    /// Whether it was asked for.
    pub wanted: bool,
    /// Whether it is on.
    pub active: bool,
}

/// Every feature of a device by the kernel's name, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FeatureState {
    /// The features, such as "tx-tcp-segmentation".
    pub bits: BTreeMap<String, FeatureBit>,
}

/// What the offloads are to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Set {
    /// As `ethtool -K DEVICE tso on gso on lro on gro on`.
    On,
    /// As `ethtool -K DEVICE tso off gso off lro off gro off`.
    Off,
    /// Left alone.
    AsFound,
}

/// The features to ask for, on (true) or off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// By the kernel's name. Empty: nothing is touched.
    pub asked: BTreeMap<String, bool>,
}

/// What came of a plan, read from the device after the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// What was asked for.
    pub asked: BTreeMap<String, bool>,
    /// Whether each feature of the device is on now, asked for or not.
    pub active: BTreeMap<String, bool>,
    /// The features that were asked for and are not so.
    pub mismatched: Vec<String>,
}

/// A changeable feature that is not as it was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The kernel's name of the feature.
    pub name: String,
    /// How it was; `None` when the device did not have it then.
    pub before: Option<FeatureBit>,
    /// How it is; `None` when the device has it no more.
    pub now: Option<FeatureBit>,
}

/// Reads every feature of `device`.
pub fn observe(device: &str) -> Result<FeatureState, HostError> {
    Ok(read(&mut Ethtool::open()?, device)?)
}

/// The features to ask for so that the groups tso, gso, gro and lro are as `set` says.
///
/// A feature that the device cannot change is asked for only where it would stay in the way: on
/// when it should be off, or when its whole group can not be turned on. LRO counts as off duty on
/// a device that does not offer it.
pub fn plan(state: &FeatureState, set: Set) -> Plan {
    let on = match set {
        Set::On => true,
        Set::Off => false,
        Set::AsFound => return Plan::default(),
    };
    let mut asked = BTreeMap::new();
    for (group, is_member) in GROUPS {
        let members = || state.bits.iter().filter(|(name, _)| is_member(name));
        let optional = *group == "lro" || members().any(|(_, bit)| bit.changeable);
        for (name, bit) in members() {
            let in_the_way = !bit.changeable && bit.active != on && (!on || !optional);
            if bit.changeable || in_the_way {
                asked.insert(name.clone(), on);
            }
        }
    }
    Plan { asked }
}

/// A plan for features by the kernel's own names, whether the device offers them or not.
pub fn plan_names(names: impl IntoIterator<Item = (String, bool)>) -> Plan {
    Plan { asked: names.into_iter().collect() }
}

/// Asks `device` for what is planned, then reads what became of it.
///
/// `Ok` with an empty `mismatched` is the only success. A name unknown to the kernel is an error.
pub fn apply(device: &str, plan: &Plan) -> Result<Applied, HostError> {
    let mut ethtool = Ethtool::open()?;
    if !plan.asked.is_empty() {
        ethtool.set_features(device, &plan.asked)?;
    }
    let now = read(&mut ethtool, device)?;
    let active: BTreeMap<_, _> = now.bits.iter().map(|(name, bit)| (name.clone(), bit.active)).collect();
    let differs = |(name, on): &(&String, &bool)| active.get(*name) != Some(*on);
    let mismatched = plan.asked.iter().filter(differs).map(|(name, _)| name.clone()).collect();
    Ok(Applied { asked: plan.asked.clone(), active, mismatched })
}

/// Gives every changeable feature of `device` its former wish, in one message, and reads again.
///
/// Returns what differs from `before` afterwards, in wish or in effect; empty means restored.
pub fn restore(device: &str, before: &FeatureState) -> Result<Vec<Difference>, HostError> {
    let mut ethtool = Ethtool::open()?;
    let changeable = before.bits.iter().filter(|(_, bit)| bit.changeable);
    let wishes: BTreeMap<_, _> = changeable.map(|(name, bit)| (name.clone(), bit.wanted)).collect();
    if !wishes.is_empty() {
        ethtool.set_features(device, &wishes)?;
    }
    Ok(differences(before, &read(&mut ethtool, device)?))
}

/// A group of features by ethtool's short name, with the test for its members.
type Group = (&'static str, fn(&str) -> bool);

/// ethtool's groups; "tso" has no bit of its own, it is whatever names the kernel reports.
const GROUPS: &[Group] = &[
    ("tso", |name| name.starts_with("tx-tcp") && name.ends_with("-segmentation")),
    ("gso", |name| name == "tx-generic-segmentation"),
    ("gro", |name| name == "rx-gro"),
    ("lro", |name| name == "rx-lro"),
];

fn read(ethtool: &mut Ethtool, device: &str) -> Result<FeatureState, netlink::Error> {
    let features = ethtool.features(device)?.into_iter();
    let bits = features.map(|(name, feature)| {
        let bit = FeatureBit { changeable: feature.is_changeable(), wanted: feature.wanted, active: feature.active };
        (name, bit)
    });
    Ok(FeatureState { bits: bits.collect() })
}

fn differences(before: &FeatureState, now: &FeatureState) -> Vec<Difference> {
    let mut names: Vec<_> = before.bits.keys().chain(now.bits.keys()).collect();
    names.sort();
    names.dedup();
    let difference = |name: &String| {
        let (before, now) = (before.bits.get(name).copied(), now.bits.get(name).copied());
        (before != now).then(|| Difference { name: name.clone(), before, now })
    };
    names.into_iter().filter_map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(bits: &[(&str, bool, bool)]) -> FeatureState {
        let bit = |&(name, changeable, active): &(&str, bool, bool)| {
            (name.to_owned(), FeatureBit { changeable, wanted: active, active })
        };
        FeatureState { bits: bits.iter().map(bit).collect() }
    }

    fn names(plan: &Plan) -> Vec<&str> {
        plan.asked.keys().map(String::as_str).collect()
    }

    #[test]
    fn the_groups_are_computed_from_the_names_reported() {
        let found = state(&[
            ("rx-gro", true, false),
            ("rx-lro", false, false),
            ("tx-generic-segmentation", true, true),
            ("tx-tcp-accecn-segmentation", true, true),
            ("tx-tcp6-segmentation", true, true),
            ("tx-udp-segmentation", true, true),
        ]);
        let off = plan(&found, Set::Off);
        assert_eq!(
            names(&off),
            ["rx-gro", "tx-generic-segmentation", "tx-tcp-accecn-segmentation", "tx-tcp6-segmentation"]
        );
        assert!(off.asked.values().all(|on| !on));
        assert_eq!(plan(&found, Set::On).asked.len(), off.asked.len());
        assert!(plan(&found, Set::AsFound).asked.is_empty());
    }

    #[test]
    fn lro_is_asked_for_only_where_it_can_be_changed_or_is_stuck_on() {
        let offered = state(&[("rx-lro", true, false)]);
        assert_eq!(names(&plan(&offered, Set::On)), ["rx-lro"]);
        let absent = state(&[("rx-lro", false, false)]);
        assert!(plan(&absent, Set::On).asked.is_empty());
        let stuck = state(&[("rx-lro", false, true)]);
        assert_eq!(names(&plan(&stuck, Set::Off)), ["rx-lro"]);
    }

    #[test]
    fn a_group_that_cannot_be_had_is_asked_for_so_that_it_is_reported() {
        let fixed = state(&[("tx-tcp-segmentation", false, false), ("tx-tcp6-segmentation", false, false)]);
        assert_eq!(plan(&fixed, Set::On).asked.len(), 2);
        assert!(plan(&fixed, Set::Off).asked.is_empty());
        let partly = state(&[("tx-tcp-segmentation", true, false), ("tx-tcp-ecn-segmentation", false, false)]);
        assert_eq!(names(&plan(&partly, Set::On)), ["tx-tcp-segmentation"]);
    }
}
