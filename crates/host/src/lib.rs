//! The settings of a host (knobs), one file each, and the facts of its devices.
//!
//! Every knob goes the same way: observe, plan, write down, ask, read again, compare; and back in reverse
//! order ([`Held`]). What could not be applied is an error with the asked and the actual value. What
//! somebody else changed meanwhile is not put back, it is reported. All of it acts in the caller's
//! network namespace.
//!
//! | file | it is |
//! |---|---|
//! | knob | what a knob is |
//! | change | one change: made, and taken back |
//! | held | the changes of one run |
//! | journal | what was changed and not put back yet, on disk |
//! | keeper | the process that holds the journal and outlives its agent |
//! | recovery | journals that nobody holds any more |
//! | channels and coalesce (tuning), governor, mtu, offload, qdisc, sysctl | the knobs |
//! | snapshot | what the kernel may change along with a setting |
//! | stress | threads that keep CPUs busy; no knob, since nothing is left of them |
//! | describe | the facts of a device |

mod change;
mod describe;
mod device;
mod error;
mod governor;
mod held;
pub mod journal;
pub mod keeper;
mod knob;
mod mtu;
mod offload;
mod qdisc;
pub mod recovery;
pub mod snapshot;
mod stress;
mod sysctl;
mod tuning;

pub use change::{Change, Outcome, take_back};
pub use describe::{DeviceFacts, QdiscFact, describe};
pub use device::check as check_device;
pub use error::HostError;
pub use governor::Governor;
pub use held::{Held, InForce, Journal, NoJournal};
pub use keeper::{KEEPER_VERB, Keeper};
pub use knob::{Knob, Mismatch, Scope, VALUE, Values, single};
pub use mtu::Mtu;
pub use offload::{FeatureBit, FeatureState, Offloads, SET, SETS, features, is_on};
pub use qdisc::RootQdisc;
pub use snapshot::Watch;
pub use stress::{Flavour, Stress, Stressed, Worked};
pub use sysctl::Sysctl;
pub use tuning::{CHANNEL_COUNTS, INTERRUPT_COALESCING, Tuning};

/// Every knob, in the order in which they are set: a change of queues makes new qdiscs.
pub const KNOBS: &[&dyn Knob] = &[
    &Sysctl,
    &Governor { root: "/sys/devices/system/cpu" },
    &CHANNEL_COUNTS,
    &INTERRUPT_COALESCING,
    &Mtu,
    &Offloads,
    &RootQdisc,
];

/// The knob of this name.
pub fn knob_named(name: &str) -> Option<&'static dyn Knob> {
    KNOBS.iter().copied().find(|knob| knob.name() == name)
}
