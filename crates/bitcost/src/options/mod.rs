//! Groups of options that several verbs have.

pub mod against;
pub mod daily;
pub mod gates;
pub mod hosts;
pub mod judging;
pub mod order;
pub mod place;
pub mod repeats;
pub mod run;
pub mod settings;
pub mod slow;

pub const PROFILE: &str = "Repeat each run while the CPUs are sampled, and show in which parts of the kernel CPU time is spent. Needs root on the hosts; other figures are of the runs without sampling";
