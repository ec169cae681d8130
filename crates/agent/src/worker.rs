//! The flows of one traffic thread, and the body of the thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use bitcost_sys::clock::sleep_until;
use bitcost_traffic::{Control, Flow, Multiplexer, Phase, TrafficError};

use crate::affinity::Request;
use crate::events::{Event, FlowIndex, Started};

/// The flows of one thread, with their numbers and controls.
#[derive(Default)]
pub struct Worker {
    part: usize,
    numbers: Vec<usize>,
    flows: Vec<Box<dyn Flow>>,
    controls: Vec<Arc<Control>>,
}

impl Worker {
    /// Distributes the flows of a part over `threads` threads, in turn.
    pub fn of(
        part: usize,
        flows: Vec<Box<dyn Flow>>,
        controls: &[Arc<Control>],
        threads: u32,
    ) -> Vec<Worker> {
        let mut workers: Vec<Worker> = (0..threads)
            .map(|_| Worker {
                part,
                ..Worker::default()
            })
            .collect();
        for (number, (flow, control)) in flows.into_iter().zip(controls).enumerate() {
            let worker = &mut workers[number % threads as usize];
            worker.numbers.push(number);
            worker.flows.push(flow);
            worker.controls.push(control.clone());
        }
        workers
    }

    /// The number of its flows.
    pub fn count(&self) -> usize {
        self.flows.len()
    }

    /// The body of the thread. When its flows have ended it stays until the sender of `release` is
    /// dropped, so that its CPU time can be read at the end of the window.
    pub fn work(
        mut self,
        request: &Request,
        begin_ns: u64,
        out: &Sender<Event>,
        release: &Receiver<()>,
    ) {
        // The run's thread has ended only when the run was aborted.
        let report = |event| drop(out.send(event));
        let mut failed = self.play(request, begin_ns, &report).err();
        for (index, (number, flow)) in self.numbers.into_iter().zip(self.flows).enumerate() {
            // A call on a socket that the abort has shut down fails, which is how the loop ends.
            let is_cut = self.controls[index].phase() == Phase::Abort;
            let ended = match failed.take_if(|(failed, _)| *failed == index) {
                Some((_, reason)) if !is_cut => Err(reason),
                _ => Ok(flow),
            };
            report(Event::Ended(
                FlowIndex {
                    part: self.part,
                    flow: number,
                },
                ended,
            ));
        }
        let _ = release.recv();
    }

    /// Moves messages until every flow has ended.
    ///
    /// # Errors
    /// The index of the flow that failed, and the reason.
    fn play(
        &mut self,
        request: &Request,
        begin_ns: u64,
        report: &impl Fn(Event),
    ) -> Result<(), (usize, String)> {
        let affinity = request.apply().map_err(|reason| (0, reason))?;
        if !self.flows.iter().any(|flow| flow.keeps_new_files()) {
            // Where the kernel refuses this, the thread keeps sharing the process's table.
            let _ = bitcost_sys::thread::unshare_files();
        }
        let started = Event::Started(Started {
            part: self.part,
            thread_id: bitcost_sys::thread::thread_id(),
            affinity,
        });
        let named = |(index, error): (usize, TrafficError)| (index, error.to_string());
        if let [flow] = &mut self.flows[..]
            && flow.as_multiplexed().is_none()
        {
            report(started);
            sleep_until(begin_ns);
            return flow
                .run(&self.controls[0])
                .map_err(|error| (0, error.to_string()));
        }
        let mut together = Multiplexer::new(&mut self.flows, &self.controls).map_err(named)?;
        report(started);
        sleep_until(begin_ns);
        together.run().map_err(named)
    }
}
