//! Why a host could not be observed or set, in sentences for its user.

use std::collections::BTreeMap;

use crate::values::Mismatch;

/// Why a host could not be observed or set.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The kernel refused a netlink request.
    #[error(transparent)]
    Netlink(#[from] bitcost_sys::netlink::Error),
    /// The driver refused numbers of a device at this time.
    #[error(
        "{error}; some drivers change it only while the interface is down: leave the setting out, or set it before with \
         `ip link set {device} down`, `ethtool {option} {device} …`, `ip link set {device} up`"
    )]
    Busy {
        device: String,
        /// The option of the program ethtool for these numbers.
        option: &'static str,
        error: bitcost_sys::netlink::Error,
    },
    /// The driver refused numbers of a device.
    #[error("{error}; it has {}", pairs(.now))]
    Numbers {
        error: bitcost_sys::netlink::Error,
        /// Its present ones, and their limits.
        now: BTreeMap<&'static str, u32>,
    },
    /// It does not exist or is not available here.
    #[error("cannot {asked}: {why}")]
    Cannot {
        /// The request, as the rest of a sentence that starts with "cannot".
        asked: String,
        why: String,
    },
    /// It does not exist: after a change, the interface or the module that had it is gone.
    #[error("cannot {0}")]
    Gone(String),
    /// The kernel reported success, but the value was not applied.
    #[error("{knob} of {subject} was not applied: {}", listed(mismatches))]
    NotApplied {
        knob: &'static str,
        subject: String,
        mismatches: Vec<Mismatch>,
    },
    /// The host was not changed, since its former state could not be written to the journal.
    #[error("cannot write to the journal what to restore later: {0}; the host was not changed")]
    Journal(String),
}

impl HostError {
    pub fn cannot(asked: impl Into<String>, why: impl std::fmt::Display) -> HostError {
        HostError::Cannot {
            asked: asked.into(),
            why: why.to_string(),
        }
    }
}

fn pairs(numbers: &BTreeMap<&str, u32>) -> String {
    let pairs = numbers
        .iter()
        .map(|(name, number)| format!("{name} {number}"));
    pairs.collect::<Vec<_>>().join(", ")
}

fn listed(mismatches: &[Mismatch]) -> String {
    mismatches
        .iter()
        .map(Mismatch::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}
