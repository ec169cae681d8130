//! Results in the forms of other programs, so that what reads theirs reads ours.

mod iperf3;
mod netperf;

pub use iperf3::iperf3;
pub use netperf::{netperf_keyval, netperf_table};
