//! Why a host could not be observed or set, in sentences for its user.

use crate::knob::Mismatch;

/// Why a host could not be observed or set.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The kernel refused a netlink request.
    #[error(transparent)]
    Netlink(#[from] netlink::Error),
    /// The driver's name could not be read.
    #[error("cannot read the driver of {device}: {source}; check the device's name")]
    Driver {
        /// The device asked about.
        device: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// There is no such thing, or it cannot be had here.
    #[error("cannot {asked}: {why}")]
    Cannot {
        /// What was asked, as the rest of a sentence that begins with "cannot".
        asked: String,
        /// What happened, and what to do.
        why: String,
    },
    /// The kernel took it, and it is not so.
    #[error("{knob} of {subject} did not take: {}", listed(mismatches))]
    NotApplied {
        /// The knob.
        knob: &'static str,
        /// What it was to change.
        subject: String,
        /// What differs.
        mismatches: Vec<Mismatch>,
    },
    /// The host was not touched, since its former state could not be written down.
    #[error("cannot write down what to put back later: {0}; the host was left as it was")]
    Journal(String),
}

impl HostError {
    /// An error of [`HostError::Cannot`].
    pub fn cannot(asked: impl Into<String>, why: impl std::fmt::Display) -> HostError {
        HostError::Cannot { asked: asked.into(), why: why.to_string() }
    }
}

fn listed(mismatches: &[Mismatch]) -> String {
    mismatches.iter().map(Mismatch::to_string).collect::<Vec<_>>().join("; ")
}

/// `; did you mean …?` for the names that are closest to one that is unknown, or nothing.
pub fn near<'a>(asked: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut close: Vec<(usize, &str)> = known.map(|name| (strsim::damerau_levenshtein(asked, name), name)).collect();
    close.retain(|(distance, name)| *distance <= 1 + name.len() / 4 || name.contains(asked));
    close.sort_unstable();
    close.truncate(3);
    if close.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = close.into_iter().map(|(_, name)| name).collect();
    format!("; did you mean {}?", names.join(" or "))
}
