//! Rings, interrupt coalescing and channel counts of a device, over ethtool's generic netlink family.
//!
//! A value that the driver does not offer is absent from its answer. The kernel refuses a whole
//! request when one of its values is not offered, and may accept a value and not keep it: read it
//! back. Source: Documentation/networking/ethtool-netlink.rst, Linux 5.7 and later.

use std::collections::BTreeMap;

use crate::netlink::error::Error;
use crate::netlink::ethtool::{Ethtool, addressed};
use crate::netlink::generic::body;
use crate::netlink::message::{attributes, u32_at};

const RINGS_GET: u8 = 15;
const RINGS_SET: u8 = 16;
const CHANNELS_GET: u8 = 17;
const CHANNELS_SET: u8 = 18;
const COALESCE_GET: u8 = 19;
const COALESCE_SET: u8 = 20;

/// One number of a device: its attribute, its name with the unit last, and whether it is a switch
/// (one byte).
type Row = (u16, &'static str, bool);

/// A group of numbers of a device that ethtool reads and sets together.
#[derive(Debug)]
pub struct Group {
    /// Their name, for messages.
    pub what: &'static str,
    get: u8,
    set: u8,
    rows: &'static [Row],
    /// The ending of the name of a limit; limits are read-only.
    limit: &'static str,
}

impl Group {
    /// The names of the numbers that can be requested.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let is_set = |name: &&str| !self.is_limit(name);
        self.rows.iter().map(|(_, name, _)| *name).filter(is_set)
    }

    /// Whether this is a limit of the device, not a number that can be set.
    pub fn is_limit(&self, name: &str) -> bool {
        !self.limit.is_empty() && name.ends_with(self.limit)
    }
}

/// Packets for which the queues of a device have room (`ethtool -g`, `-G`).
pub const RINGS: Group = Group {
    what: "rings",
    get: RINGS_GET,
    set: RINGS_SET,
    limit: "_max",
    rows: &[
        (2, "rx_max", false),
        (3, "rx_mini_max", false),
        (4, "rx_jumbo_max", false),
        (5, "tx_max", false),
        (6, "rx", false),
        (7, "rx_mini", false),
        (8, "rx_jumbo", false),
        (9, "tx", false),
    ],
};

/// Queues of a device (`ethtool -l`, `-L`).
pub const CHANNELS: Group = Group {
    what: "channels",
    get: CHANNELS_GET,
    set: CHANNELS_SET,
    limit: "_max",
    rows: &[
        (2, "rx_max", false),
        (3, "tx_max", false),
        (4, "other_max", false),
        (5, "combined_max", false),
        (6, "rx", false),
        (7, "tx", false),
        (8, "other", false),
        (9, "combined", false),
    ],
};

/// Interrupt coalescing of a device (`ethtool -c`, `-C`).
pub const COALESCE: Group = Group {
    what: "interrupt coalescing",
    get: COALESCE_GET,
    set: COALESCE_SET,
    limit: "",
    rows: &[
        (2, "rx_usecs", false),
        (3, "rx_frames", false),
        (4, "rx_irq_usecs", false),
        (5, "rx_irq_frames", false),
        (6, "tx_usecs", false),
        (7, "tx_frames", false),
        (8, "tx_irq_usecs", false),
        (9, "tx_irq_frames", false),
        (11, "adaptive_rx", true),
        (12, "adaptive_tx", true),
    ],
};

impl Ethtool {
    /// The numbers of a group that `device` has, by name.
    ///
    /// `EOPNOTSUPP` when its driver has none of them.
    pub fn tuning(
        &mut self,
        group: &Group,
        device: &str,
    ) -> Result<BTreeMap<&'static str, u32>, Error> {
        let asked = format!("read the {} of {device}", group.what);
        let message = addressed(self.family.command(group.get), device);
        let answer = self.family.connection.request(&asked, message)?;
        let reply = answer.first();
        let reply = reply.ok_or_else(|| Error::malformed(asked, "an empty answer"))?;
        let value = |(kind, value): (u16, &[u8])| {
            let (_, name, is_switch) = group.rows.iter().find(|(known, _, _)| *known == kind)?;
            let number = if *is_switch {
                u32::from(*value.first()?)
            } else {
                u32_at(value, 0)?
            };
            Some((*name, number))
        };
        Ok(attributes(body(reply)).filter_map(value).collect())
    }

    /// Requests numbers of a group of `device`, in one message; names that the group does not have
    /// are left out.
    ///
    /// `Ok` does not mean that they are in effect. `EOPNOTSUPP` or `EINVAL` when the driver does
    /// not accept them.
    pub fn set_tuning(
        &mut self,
        group: &Group,
        device: &str,
        values: &BTreeMap<String, u32>,
    ) -> Result<(), Error> {
        let words: Vec<String> = values
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        let asked = format!("set the {} of {device} to {}", group.what, words.join(", "));
        let mut message = addressed(self.family.command(group.set), device);
        for (kind, name, is_switch) in group.rows {
            match values.get(*name) {
                Some(value) if *is_switch => {
                    message = message.attribute(*kind, &[u8::from(*value != 0)])
                }
                Some(value) => message = message.attribute_u32(*kind, *value),
                None => {}
            }
        }
        self.family.connection.request(&asked, message).map(drop)
    }
}
