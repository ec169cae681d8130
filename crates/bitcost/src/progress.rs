//! The reports of an execution on standard error.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::scope;

use bitcost_analysis::explain::SoFar;
use bitcost_analysis::summary::Precision;
use bitcost_execute::{Executed, Progress, Start};
use bitcost_model::event::Event;
use bitcost_model::units::counted;
use bitcost_render::block::Block;
use bitcost_render::explained::{TCP, hop_blocks};
use bitcost_render::progress::{View, held};
use bitcost_render::stop_rule::stop_rule_text;

use crate::failure::Failure;
use crate::{output, panel};

/// The most lines of the execution that a panel shows.
const LINES: usize = 3;

/// Executes with this progress, and with a panel where that is requested.
pub fn execute(
    start: Start,
    is_live: bool,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Executed, Failure> {
    if !is_live {
        return Ok(start.execute(stop, progress)?);
    } else if !panel::is_possible() {
        let why = "--live needs a terminal as standard input and output; leave it out for lines";
        return Err(Failure::Usage(why.to_owned()));
    }
    *held() = Some(Vec::new());
    let (events, inbox) = channel();
    scope(|scope| {
        scope.spawn(|| show(inbox, stop));
        let executed = start.execute(stop, &mut Both(events, progress));
        stop.store(true, Ordering::Relaxed);
        Ok(executed?)
    })
}

/// Shows a panel until it is left, and then the lines that waited for that.
fn show(events: Receiver<Event>, stop: &AtomicBool) {
    let mut runs = SoFar::default();
    let shown = panel::show(TCP, None, stop, &mut || {
        events.try_iter().for_each(|event| runs.take(event));
        let (rows, hops) = runs.listed();
        let lines = held().clone().unwrap_or_default();
        let lines = lines[lines.len().saturating_sub(LINES)..].iter();
        let lines = lines.map(|line| Block::words(&**line));
        Ok((rows, hop_blocks(&hops).into_iter().chain(lines).collect()))
    });
    let lines = held().take();
    lines.iter().flatten().for_each(|line| output::say(line));
    if let Err(failure @ Failure::Environment(_)) = shown {
        failure.report();
    }
}

/// A panel, and what tells of an execution without one.
struct Both<'a>(Sender<Event>, &'a mut dyn Progress);

impl Progress for Both<'_> {
    fn event(&mut self, event: &Event) {
        // The panel may have been left.
        let _ = self.0.send(event.clone());
        self.1.event(event);
    }

    fn message(&mut self, text: &str) {
        self.1.message(text);
    }

    fn precision(&mut self, precision: &Precision) {
        self.1.precision(precision);
    }

    fn completed(&mut self, runs: &BTreeSet<u32>) {
        self.1.completed(runs);
    }
}

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
