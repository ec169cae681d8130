//! The types that the parts of bitcost share: conditions, plans, records, events, and the control
//! protocol.
//!
//! Pure: no clock, no files, no sockets. Settings are here with the text of their values; files that
//! people write are read by `bitcost_study`.

#[macro_use]
mod words;

pub mod as_map;
pub mod at_most;
pub mod buffers;
pub mod client_event;
pub mod conditions;
pub mod confinement;
pub mod constants;
pub mod counters;
pub mod cpu_list;
pub mod event;
pub mod firewall;
pub mod framing;
mod harmless;
pub mod host_settings;
pub mod imported;
pub mod machine;
pub mod modes;
pub mod near;
pub mod path_change;
pub mod ping;
pub mod place;
pub mod plan;
pub mod profile;
pub mod protocol;
pub mod readings;
mod reason;
pub mod record;
pub mod search;
pub mod settings;
pub mod shaping;
pub mod shared_sysctls;
pub mod shell;
pub mod soft_interrupts;
pub mod study;
pub mod tcp_buffers;
mod tcp_info;
pub mod topology;
pub mod units;
pub mod workload;

pub use harmless::{harmless, harmless_page, shown};
pub use reason::{Invalid, Unavailable};

/// Whether a value is its type's default, for serde's `skip_serializing_if`.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
