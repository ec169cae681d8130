//! The nouns of bitcost: units, studies, plans, and what a run leaves behind.
//!
//! Pure: no clock, no files, no sockets. A study's text comes in as a string, and a plan is a
//! function of a study and a seed.

pub mod beside;
pub mod buffers;
pub mod calibration;
pub mod conditions;
pub mod counters;
pub mod event;
mod harmless;
pub mod imported;
pub mod knobs;
pub mod machine;
pub mod miniedit;
pub mod mode_search;
pub mod modes;
pub mod near;
pub mod one_host;
pub mod ping;
pub mod place;
pub mod plan;
pub mod probes;
pub mod record;
pub mod settings;
pub mod shaping;
pub mod shared_sysctls;
pub mod sizes;
pub mod study;
pub mod tcp_buffers;
mod tcp_info;
pub mod threads;
pub mod topology;
pub mod units;

pub use harmless::{harmless, harmless_coloured, harmless_page, shown};
