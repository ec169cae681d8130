//! The settings of a host (knobs), one file each, and the facts of its devices.
//!
//! Every knob goes the same way: observe, plan, apply, verify by reading again, restore. What a
//! knob could not apply is reported as such. All of it acts in the caller's network namespace.

mod describe;
mod offload;

pub use describe::{DeviceFacts, QdiscFact, describe};
pub use offload::{
    Applied, Difference, FeatureBit, FeatureState, Plan, Set, apply, observe, plan, plan_names, restore,
};

/// A row of the table of knobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knob {
    /// Its name in study files and on the screen.
    pub name: &'static str,
    /// The levels it takes.
    pub levels: &'static [&'static str],
    /// What it changes.
    pub about: &'static str,
}

/// Every knob.
pub const KNOBS: &[Knob] = &[Knob {
    name: "offloads",
    levels: &["on", "off", "as-found"],
    about: "TSO, GSO, GRO and, where the device offers it, LRO of a device",
}];

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
}
