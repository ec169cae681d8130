//! The flow of one traffic thread, and the body of the thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use bitcost_sys::clock::{monotonic_ns, sleep_until};
use bitcost_traffic::{Control, Flow, Phase};

use crate::affinity;
use crate::events::{Event, FlowIndex, Started};
use crate::refusal::Refusal;

/// How often a thread that waits for its time sees whether the run is aborted.
const LOOK_NS: u64 = 20_000_000;

pub struct Worker {
    pub place: FlowIndex,
    pub flow: Box<dyn Flow>,
    pub control: Arc<Control>,
    /// Whether the other endpoint may reset its connection after the window.
    pub discards_rest: bool,
}

impl Worker {
    /// The body of the thread, which is sent the time of its first message. When its flow has ended it stays until the sender
    /// of `begin` is dropped, so that its CPU time can be read at the end of the window.
    pub fn work(mut self, cpus: &[u32], out: &Sender<Event>, begin: &Receiver<u64>) {
        // The run's thread has ended only when the run was aborted.
        let report = |event| drop(out.send(event));
        let ended = match self.play(cpus, begin, &report) {
            // A call on a socket that was shut down or reset fails, which is how the loop ends.
            Err(reason) if !self.is_over() => Err(reason),
            _ => Ok(self.flow),
        };
        report(Event::Ended(self.place, ended));
        while begin.recv().is_ok() {}
    }

    fn is_over(&self) -> bool {
        match self.control.phase() {
            Phase::Abort => true,
            Phase::Cooldown | Phase::Over => self.discards_rest,
            Phase::Warmup | Phase::Measured => false,
        }
    }

    fn play(
        &mut self,
        cpus: &[u32],
        begin: &Receiver<u64>,
        report: &impl Fn(Event),
    ) -> Result<(), Refusal> {
        let cpus = affinity::apply(cpus)?;
        if !self.flow.keeps_new_files() {
            // Where the kernel refuses this, the thread keeps sharing the process's table.
            let _ = bitcost_sys::thread::unshare_files();
        }
        report(Event::Started(Started {
            part: self.place.part,
            thread_id: bitcost_sys::thread::thread_id(),
            cpus,
        }));
        // That of an aborted run begins at once, and so ends.
        let begin_ns = begin.recv().unwrap_or_default();
        while self.control.phase() != Phase::Abort && monotonic_ns() < begin_ns {
            sleep_until(begin_ns.min(monotonic_ns() + LOOK_NS));
        }
        Ok(self
            .flow
            .run(&self.control)
            .map_err(|error| error.to_string())?)
    }
}
