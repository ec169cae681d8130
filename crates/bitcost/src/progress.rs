//! The reports of an execution on standard error.

use std::collections::BTreeSet;

use bitcost_analysis::summary::Precision;
use bitcost_execute::Progress;
use bitcost_model::event::Event;
use bitcost_model::units::counted;
use bitcost_render::progress::View;
use bitcost_render::stop_rule::stop_rule_text;

use crate::output;

#[derive(Default)]
pub struct Live(View);

impl Progress for Live {
    fn event(&mut self, event: &Event) {
        self.0.show(event);
    }

    fn message(&mut self, text: &str) {
        output::say(text);
    }

    fn precision(&mut self, precision: &Precision) {
        let made = counted(precision.blocks as usize, "block");
        output::say(&format!("after {made}: {}", stop_rule_text(precision)));
    }

    fn completed(&mut self, runs: &BTreeSet<u32>) {
        runs.iter().for_each(|run| self.0.skip(*run));
    }
}
