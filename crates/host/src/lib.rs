//! The settings of a host (knobs), one file each, and the facts of its devices.
//!
//! Every knob is handled in the same steps: observe, plan, write to the journal, set, read back,
//! compare; and restore ([`ChangeSet`]). A value that could not be applied is an
//! error with the requested and the actual value. A value that another program changed meanwhile is
//! reported, not restored. Everything acts in the caller's network namespace.

mod change;
mod change_set;
mod describe;
mod device;
mod error;
pub mod journal;
mod knob;
mod link_number;
mod offload;
mod qdisc;
mod receive_path;
pub mod recovery;
pub mod snapshot;
mod stress;
mod sysctl;
mod tuning;
mod values;
pub mod watchdog;

pub use change::{Change, Outcome, restore};
pub use change_set::{ChangeSet, InEffect, Journal, NoJournal};
pub use describe::describe;
pub use device::{
    await_link, check as check_device, check_name as check_device_name, devices, has_link,
};
pub use error::HostError;
pub use knob::{Knob, Scope};
pub use link_number::{GRO_MAX_SIZE, GSO_MAX_SEGS, GSO_MAX_SIZE, LinkNumber, MTU};
pub use offload::{Offloads, is_on};
pub use qdisc::RootQdisc;
pub use receive_path::{RPS_CPUS, ReceivePath, THREADED_NAPI};
pub use snapshot::Watch;
pub use stress::{Stressed, Worked, keep_busy};
pub use sysctl::Sysctl;
pub use tuning::{CHANNEL_COUNTS, INTERRUPT_COALESCING, RING_SIZES, Tuning};
pub use values::{Mismatch, VALUE, Values, single};
pub use watchdog::{WATCHDOG_VERB, Watchdog};

/// Every knob, in the order in which they are set: a change of the number of queues creates new
/// qdiscs, and a veth without GRO has no NAPI.
pub static KNOBS: &[&dyn Knob] = &[
    &Sysctl,
    &RING_SIZES,
    &CHANNEL_COUNTS,
    &INTERRUPT_COALESCING,
    &MTU,
    &Offloads,
    &THREADED_NAPI,
    &RPS_CPUS,
    &GSO_MAX_SEGS,
    &GSO_MAX_SIZE,
    &GRO_MAX_SIZE,
    &RootQdisc,
];

pub fn knob_named(name: &str) -> Option<&'static dyn Knob> {
    KNOBS.iter().copied().find(|knob| knob.name() == name)
}
