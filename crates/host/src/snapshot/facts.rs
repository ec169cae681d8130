//! A snapshot: facts about an interface at one moment, by name.

use std::collections::BTreeMap;

use bitcost_sys::netlink::{AddressRecord, RouteRecord};

use crate::HostError;
use crate::values::Values;

/// The data that is needed to recreate addresses and routes, by the names of their facts.
#[derive(Debug, Clone, Default)]
pub struct Records {
    pub addresses: BTreeMap<String, AddressRecord>,
    pub routes: BTreeMap<String, RouteRecord>,
}

/// Every fact about an interface at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The facts: values by name.
    pub facts: Values,
    /// The data that is needed to recreate some of them.
    pub records: Records,
}

impl Snapshot {
    /// Adds the fact `word device what`.
    pub fn add(&mut self, word: &str, device: &str, what: &str, value: impl Into<String>) {
        self.facts.insert(name(word, device, what), value.into());
    }
}

pub fn name(word: &str, device: &str, what: &str) -> String {
    format!("{word} {device} {what}")
}

/// Device and rest of a fact's name.
pub fn parts(name: &str) -> Option<(&str, &str)> {
    name.split_once(' ')?.1.split_once(' ')
}

/// The error for a fact of an unknown source or form.
pub fn unknown(name: &str) -> HostError {
    HostError::cannot(
        format!("restore \"{name}\""),
        "this bitcost does not know this fact; use the version of bitcost that changed it",
    )
}
