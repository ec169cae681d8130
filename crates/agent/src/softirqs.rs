//! Whether a run's soft interrupts are timed at this endpoint, and why not.

use bitcost_model::protocol::Prepare;
use bitcost_model::record::{InEffect, SOFTIRQ_TIME, SOFTIRQS_TIMED};
use bitcost_probe::softirq_timer::SoftirqTimer;

/// Starts timing where the endpoint was asked to, and adds to the record of the first part whether
/// the kernel permits it.
pub fn start(prepare: &Prepare, in_effect: &mut [Vec<InEffect>]) -> Option<SoftirqTimer> {
    if prepare.softirq_cpus.is_empty() {
        return None;
    }
    let (timer, means) = match SoftirqTimer::start(&prepare.softirq_cpus) {
        Ok(timer) => (Some(timer), SOFTIRQS_TIMED.to_owned()),
        Err(reason) => (
            None,
            format!("ticks, because they cannot be timed: {reason}"),
        ),
    };
    let in_effect = in_effect.first_mut()?;
    in_effect.push(InEffect::found(SOFTIRQ_TIME, Some(means)));
    timer
}
