//! Features of a device (offloads), by the kernel's names, over ethtool's generic netlink family.
//!
//! The kernel reports success also when it did not set a feature. Read the features back.
//! Source: Documentation/networking/ethtool-netlink.rst, Linux 5.7 and later.

use std::collections::BTreeMap;

use crate::netlink::error::{Error, Why};
use crate::netlink::generic::{Family, body};
use crate::netlink::message::{Message, attribute, attributes, text};

const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;

const HEADER: u16 = 1;
const HEADER_DEVICE_NAME: u16 = 2;
const FEATURES_HW: u16 = 2;
const FEATURES_WANTED: u16 = 3;
const FEATURES_ACTIVE: u16 = 4;
const FEATURES_NOCHANGE: u16 = 5;

const BITSET_NOMASK: u16 = 1;
const BITSET_BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// One feature as the kernel reports it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Feature {
    /// The device supports on and off.
    pub hw: bool,
    /// It was requested.
    pub wanted: bool,
    /// It is on.
    pub active: bool,
    /// No request may ever change it, on any device.
    pub nochange: bool,
}

impl Feature {
    /// Whether a request can change it; ethtool shows the others as "fixed".
    pub fn is_changeable(&self) -> bool {
        self.hw && !self.nochange
    }
}

/// Every feature that the kernel knows, by its name, such as "tx-tcp-segmentation".
pub type Features = BTreeMap<String, Feature>;

/// A connection to ethtool's netlink family.
#[derive(Debug)]
pub struct Ethtool {
    pub(crate) family: Family,
}

impl Ethtool {
    /// Opens a connection in the calling thread's network namespace.
    ///
    /// Fails with `EOPNOTSUPP` when the kernel has no such family (before Linux 5.6).
    pub fn open() -> Result<Self, Error> {
        match Family::open("ethtool")? {
            Some(family) => Ok(Self { family }),
            None => Err(Error {
                asked: "open ethtool's netlink family".to_owned(),
                why: Why::Refused(
                    std::io::Error::from_raw_os_error(libc::EOPNOTSUPP),
                    Some("there is no family \"ethtool\"".to_owned()),
                ),
            }),
        }
    }

    /// Every feature of `device`.
    pub fn features(&mut self, device: &str) -> Result<Features, Error> {
        let asked = format!("read the features of {device}");
        let message = addressed(self.family.command(FEATURES_GET), device);
        let answer = self.family.connection.request(&asked, message)?;
        let reply = answer.first();
        let reply = reply.ok_or_else(|| Error::malformed(asked, "no features in the answer"))?;
        Ok(read_features(body(reply)))
    }

    /// Requests features of `device` to be on (true) or off, by name, in one message.
    ///
    /// `Ok` does not mean that they are. `EINVAL` when a name is unknown to the kernel.
    pub fn set_features(
        &mut self,
        device: &str,
        asked_for: &BTreeMap<String, bool>,
    ) -> Result<(), Error> {
        let names: Vec<_> = asked_for.keys().map(String::as_str).collect();
        let asked = format!("set the features {} of {device}", names.join(" "));
        let message = addressed(self.family.command(FEATURES_SET), device);
        let message = message.nested(FEATURES_WANTED, |set| {
            set.nested(BITSET_BITS, |bits| asked_for.iter().fold(bits, add_bit))
        });
        self.family.connection.request(&asked, message).map(drop)
    }
}

pub(crate) fn addressed(message: Message, device: &str) -> Message {
    message.nested(HEADER, |h| h.attribute_text(HEADER_DEVICE_NAME, device))
}

fn add_bit(bits: Message, (name, on): (&String, &bool)) -> Message {
    bits.nested(BIT, |bit| {
        let bit = bit.attribute_text(BIT_NAME, name);
        if *on {
            bit.attribute(BIT_VALUE, &[])
        } else {
            bit
        }
    })
}

pub(crate) fn read_features(attributes_of_reply: &[u8]) -> Features {
    let mut features = Features::new();
    for (kind, value) in attributes(attributes_of_reply) {
        if !(FEATURES_HW..=FEATURES_NOCHANGE).contains(&kind) {
            continue;
        }
        for (name, set) in read_bitset(value) {
            let feature = features.entry(name).or_default();
            match kind {
                FEATURES_HW => feature.hw = set,
                FEATURES_WANTED => feature.wanted = set,
                FEATURES_ACTIVE => feature.active = set,
                _ => feature.nochange = set,
            }
        }
    }
    features
}

/// Reads a verbose bit set: a list (every bit named is set), or bits with a value each. Bits
/// without a name are left out: they cannot be requested. A compact bit set, which the kernel only
/// sends on request, has no names.
fn read_bitset(bitset: &[u8]) -> BTreeMap<String, bool> {
    let is_list = attribute(bitset, BITSET_NOMASK).is_some();
    let bits = attribute(bitset, BITSET_BITS).unwrap_or_default();
    attributes(bits)
        .filter(|(kind, _)| *kind == BIT)
        .filter_map(|(_, bit)| {
            let name = attribute(bit, BIT_NAME)
                .map(text)
                .filter(|name| !name.is_empty())?;
            Some((name, is_list || attribute(bit, BIT_VALUE).is_some()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message::replies;

    fn bitset(list: bool, bits: &[(&str, bool)]) -> Vec<u8> {
        let mut message = Message::new(0, 0, &[]);
        if list {
            message = message.attribute(BITSET_NOMASK, &[]);
        }
        let message = message.nested(BITSET_BITS, |all| {
            bits.iter().fold(all, |all, (name, on)| {
                add_bit(all, (&(*name).to_owned(), on))
            })
        });
        replies(&message.finish(0, 0).unwrap())[0].payload.clone()
    }

    #[test]
    fn bit_of_a_list_is_set_and_bit_with_mask_has_its_value() {
        let list = read_bitset(&bitset(true, &[("rx-gro", false)]));
        assert_eq!(list, BTreeMap::from([("rx-gro".to_owned(), true)]));
        let masked = read_bitset(&bitset(false, &[("rx-gro", false), ("rx-lro", true)]));
        let expected = BTreeMap::from([("rx-gro".to_owned(), false), ("rx-lro".to_owned(), true)]);
        assert_eq!(masked, expected);
        assert!(read_bitset(&bitset(true, &[("", true)])).is_empty());
    }
}
