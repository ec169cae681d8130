//! The table of limiters: one file and one row each.

mod application_pacing;
mod congestion_clamp;
mod congestion_loss;
mod cpu_quota;
mod emulator_ring;
mod ends;
mod evidence;
mod latency;
mod loss;
mod packets_per_second;
mod path_loss;
mod queue_overflow;
mod rate;
mod receive_buffer;
mod receiver_cpu;
mod send_buffer;
mod sender_cpu;
mod slow_reader;
mod slow_start;
mod udp_receive_buffer;
mod unknown;
mod wake_ups;

use crate::explain::limiter::{Candidate, Limiter, LimiterRow, Placed, Step};
use crate::explain::signals::Signals;

pub use congestion_loss::ROW as CONGESTION_LOSS;
pub use cpu_quota::quota_of;
pub use packets_per_second::ROW as PACKETS_PER_SECOND;
pub use path_loss::ROW as PATH_LOSS;
pub use rate::ROW as RATE;
pub use receive_buffer::ROW as RECEIVE_BUFFER;
pub use receiver_cpu::ROW as RECEIVER_CPU;
pub use send_buffer::ROW as SEND_BUFFER;
pub use sender_cpu::ROW as SENDER_CPU;
pub use unknown::{ROW as UNKNOWN, verdict as unknown};

/// Every limiter, in the order in which those of one step are asked.
pub static LIMITERS: [&LimiterRow; 19] = [
    &slow_start::ROW,
    &slow_reader::ROW,
    &receiver_cpu::ROW,
    &udp_receive_buffer::ROW,
    &emulator_ring::ROW,
    &queue_overflow::ROW,
    &path_loss::ROW,
    &cpu_quota::ROW,
    &rate::ROW,
    &congestion_clamp::ROW,
    &application_pacing::ROW,
    &wake_ups::ROW,
    &packets_per_second::ROW,
    &sender_cpu::ROW,
    &receive_buffer::ROW,
    &send_buffer::ROW,
    &congestion_loss::ROW,
    &latency::ROW,
    &unknown::ROW,
];

/// The limiter of this name at a place.
pub fn limiter(name: &str, place: &str) -> Option<Limiter> {
    let row = LIMITERS.into_iter().find(|row| row.name == name)?;
    Some(row.placed(place))
}

impl TryFrom<Placed> for Limiter {
    type Error = String;

    fn try_from(placed: Placed) -> Result<Limiter, String> {
        let found = limiter(&placed.limiter, &placed.place);
        found.ok_or_else(|| format!("there is no limiter {}", placed.limiter))
    }
}

/// Whether a step is asked of a run. What limits a stream's rate says nothing of transactions, and a
/// thread that polls is on a CPU without working.
fn is_asked(step: Step, signals: &Signals) -> bool {
    match (&signals.transactions, step) {
        (None, _) => true,
        (_, Step::SetRate | Step::Quota | Step::Held | Step::Program) => true,
        (_, Step::WakeUps | Step::Latency) => true,
        (Some(transactions), Step::Sender | Step::Receiver | Step::SharedCpus) => {
            !transactions.busy_polls
        }
        _ => false,
    }
}

/// The candidates of one step, in the order in which they are asked.
pub fn asked(step: Step, signals: &Signals) -> Vec<Candidate> {
    LIMITERS
        .iter()
        .flat_map(|row| row.questions)
        .filter(|question| question.step == step && is_asked(step, signals))
        .flat_map(|question| (question.rule)(signals))
        .collect()
}

/// Every candidate of a steady run, in the order in which they are asked.
pub fn candidates(signals: &Signals) -> Vec<Candidate> {
    Step::ALL
        .into_iter()
        .filter(|step| *step != Step::Growth)
        .flat_map(|step| asked(step, signals))
        .collect()
}
