//! One run's two records in, derived figures out: throughput, CPU use, service demand, loss.
//!
//! The functions are pure: they read nothing and keep nothing. A figure that the records do not
//! allow is absent, never 0.

pub mod attribution;
mod counting;
pub(crate) mod cpu;
mod disturbance;
mod edges;
mod figures;
mod outage;
mod packaging;
mod parts;
mod path;
mod quality;
mod single_run;
mod softirqs;
mod table;
mod timing;
mod view;

pub use attribution::{Attribution, CpuUse, FULL, Method, WireLoad, attribute, wire_load};
pub use counting::{flow_rates_mbps, retransmitted_in_window, traffic_threads_pct};
pub(crate) use cpu::far_share;
pub use disturbance::{Disturbance, disturbance, disturbance_bounds};
pub(crate) use disturbance::{programs, programs_cpus};
pub(crate) use edges::{Edges, is_of_first_part, own_interface, protocols_grown};
pub use figures::Figures;
pub(crate) use outage::outages;
pub use parts::{PartRun, parts};
pub use path::emulator_trouble;
pub(crate) use path::{drops_since, emulators};
pub use quality::{Weak, marks};
pub use single_run::{SingleRun, WITH_INTERVAL, single_run};
pub use softirqs::SoftirqMeans;
pub(crate) use softirqs::why_untimed;
pub(crate) use table::place_of;
pub use table::{
    Better, CORE_TO_CORE, FULL_PACKETS, METRICS, Metric, SPEED, Shown, figure_of, metric,
    units_per_second,
};
pub(crate) use timing::in_fragments;
pub use view::{RunView, actual};
