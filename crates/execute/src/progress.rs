//! The interface through which an execution reports its progress.

use std::collections::BTreeSet;

use bitcost_analysis::summary::Precision;
use bitcost_model::event::Event;

/// Watches an execution. No method can fail, because the result is the log.
pub trait Progress {
    fn event(&mut self, _event: &Event) {}
    fn message(&mut self, _text: &str) {}
    /// How far the execution is from the end that the stop rule asks for.
    fn precision(&mut self, _precision: &Precision) {}
    /// Runs of the plan that an earlier start of this execution has completed.
    fn completed(&mut self, _runs: &BTreeSet<u32>) {}
}

/// Nobody watches.
impl Progress for () {}
