//! The settings that one host of many has alone.

use std::collections::BTreeMap;

use bitcost_model::machine::HostDescription;
use serde::Serialize;

/// The share of hosts that must have the same value for another one to be different.
const MAJORITY: f64 = 0.7;

const HOSTS_LEAST: usize = 4;

/// A host with settings that most others do not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Different {
    pub host: String,
    /// The number of hosts that have the other value.
    #[serde(rename = "peers")]
    pub others: usize,
    /// Each setting with its value, and that of the others in parentheses.
    pub settings: Vec<String>,
}

/// What each host has that most of the hosts have otherwise. Where no value has a majority nothing is said.
pub fn majority_differences(hosts: &[(String, &HostDescription)]) -> Vec<Different> {
    if hosts.len() < HOSTS_LEAST {
        return Vec::new();
    }
    let facts = hosts.iter().map(|(_, host)| host.facts());
    let facts: Vec<BTreeMap<String, String>> = facts.map(BTreeMap::from_iter).collect();
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for (name, value) in facts.iter().flatten() {
        *counts.entry(name).or_default().entry(value).or_default() += 1;
    }
    let most = counts.iter().filter_map(|(name, values)| {
        let (value, count) = values.iter().max_by_key(|(_, count)| **count)?;
        Some((*name, *value, *count))
    });
    let usual = most.filter(|(.., count)| *count as f64 >= MAJORITY * hosts.len() as f64);
    let usual: Vec<(&str, &str, usize)> = usual.collect();
    let of = |((host, _), facts): (&(String, _), &BTreeMap<String, String>)| {
        let (mut settings, mut others) = (Vec::new(), hosts.len());
        for (name, value, count) in &usual {
            let own = facts.get(*name).map_or("absent", String::as_str);
            if own != *value {
                others = others.min(*count);
                settings.push(format!("{name} {own} ({value})"));
            }
        }
        (!settings.is_empty()).then(|| Different {
            host: host.clone(),
            others,
            settings,
        })
    };
    hosts.iter().zip(&facts).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(mtu_bytes: u32, gro: bool) -> HostDescription {
        let mut host = HostDescription::default();
        host.device.mtu_bytes = mtu_bytes;
        host.device.features.insert("rx-gro".to_owned(), gro);
        host
    }

    #[test]
    fn what_one_host_has_alone_is_named() {
        let mut all = vec![host(9000, true); 16];
        all[6] = host(1500, false);
        let named: Vec<(String, &_)> = all
            .iter()
            .zip(1..)
            .map(|(host, number)| (format!("n{number}"), host))
            .collect();
        let found = majority_differences(&named);
        assert_eq!(
            found,
            [Different {
                host: "n7".into(),
                others: 15,
                settings: vec!["MTU 1500 (9000)".into(), "feature rx-gro off (on)".into()]
            }]
        );
        assert_eq!(majority_differences(&named[..3]), []);
    }

    #[test]
    fn without_a_majority_nothing_is_different() {
        let all: Vec<HostDescription> = (0..8).map(|number| host(1000 + number, true)).collect();
        let named: Vec<(String, &_)> = all.iter().map(|host| (String::new(), host)).collect();
        assert_eq!(majority_differences(&named), []);
    }
}
