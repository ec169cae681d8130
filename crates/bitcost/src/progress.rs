//! The reports of an execution on standard error.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use bitcost_analysis::summary::Precision;
use bitcost_execute::Progress;
use bitcost_model::event::Event;
use bitcost_model::units::counted;
use bitcost_render::progress::View;
use bitcost_render::stop_rule::stop_rule_text;

use crate::output;

pub struct Live(View);

impl Live {
    /// Shows one line that is redrawn if standard error is a terminal, otherwise a line for each
    /// run.
    pub fn new() -> Live {
        Live(View::new(std::io::stderr().is_terminal()))
    }
}

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
        self.0.skip(runs.iter().copied());
    }

    fn end(&mut self) {
        self.0.end();
    }
}
