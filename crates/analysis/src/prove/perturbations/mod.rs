//! The table of perturbations: one file and one row each.

mod loss;
mod message_rate;
mod packing;
mod path_rate;
mod receive_buffer;
mod receiver_cpu;
mod round_trip;
mod segments;
mod send_buffer;
mod sender_cpu;
mod wake_ups;

use super::perturbation::Perturbation;

pub use path_rate::ROW as PATH_RATE;
pub use receiver_cpu::ROW as RECEIVER_CPU;
pub use segments::ROW as SEGMENTS;
pub use sender_cpu::ROW as SENDER_CPU;

/// Every perturbation.
pub static PERTURBATIONS: [&Perturbation; 15] = [
    &sender_cpu::ROW,
    &receiver_cpu::ROW,
    &path_rate::ROW,
    &receive_buffer::ROW,
    &send_buffer::ROW,
    &loss::ROW,
    &round_trip::ROW,
    &segments::ROW,
    &wake_ups::ROW,
    &message_rate::ROW,
    &packing::SMALL_RECEIVE_BUFFER,
    &packing::LOW_WATER,
    &packing::BATCHES,
    &packing::THREADS,
    &packing::STEERING,
];
