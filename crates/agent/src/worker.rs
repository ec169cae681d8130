//! The flows of one traffic thread, and what the thread does.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use sys::clock::sleep_until;
use traffic::{Control, Flow, Together, TrafficError};

use crate::seat::{Seat, Wish};
use crate::watch::{Note, Place};

/// A traffic thread that runs.
pub struct Began {
    pub part: usize,
    pub thread_id: i32,
    pub seat: Seat,
}

/// Flows of a part with their numbers and controls.
#[derive(Default)]
pub struct Worker {
    part: usize,
    numbers: Vec<usize>,
    flows: Vec<Box<dyn Flow>>,
    controls: Vec<Arc<Control>>,
}

impl Worker {
    /// Deals the flows of a part out to so many threads.
    pub fn of(part: usize, flows: Vec<Box<dyn Flow>>, controls: &[Arc<Control>], threads: u32) -> Vec<Worker> {
        let mut workers: Vec<Worker> = (0..threads).map(|_| Worker { part, ..Worker::default() }).collect();
        for (number, (flow, control)) in flows.into_iter().zip(controls).enumerate() {
            let worker = &mut workers[number % threads as usize];
            worker.numbers.push(number);
            worker.flows.push(flow);
            worker.controls.push(control.clone());
        }
        workers
    }

    /// How many flows it has.
    pub fn count(&self) -> usize {
        self.flows.len()
    }

    /// What the thread does. When its flows have ended it stays until `release` is dropped at the other side, so
    /// that its CPU time can be read at the window's end.
    pub fn work(mut self, wish: &Wish, begin_ns: u64, out: &Sender<Note>, release: &Receiver<()>) {
        // The run's thread is gone only when the run is given up.
        let tell = |note| drop(out.send(note));
        let mut failed = self.play(wish, begin_ns, &tell).err();
        for (index, (number, flow)) in self.numbers.into_iter().zip(self.flows).enumerate() {
            let ended = match failed.take_if(|(failed, _)| *failed == index) {
                Some((_, reason)) => Err(reason),
                None => Ok(flow),
            };
            tell(Note::Ended(Place { part: self.part, flow: number }, ended));
        }
        let _ = release.recv();
    }

    /// Moves messages until every flow has ended; which one failed and why where one did.
    fn play(&mut self, wish: &Wish, begin_ns: u64, tell: &impl Fn(Note)) -> Result<(), (usize, String)> {
        let seat = wish.take_seat().map_err(|reason| (0, reason))?;
        if !self.flows.iter().any(|flow| flow.keeps_new_files()) {
            // A thread that may not have a table of its own works with the process's.
            let _ = sys::thread::own_files();
        }
        let began = Note::Began(Began { part: self.part, thread_id: sys::thread::thread_id(), seat });
        let named = |(index, error): (usize, TrafficError)| (index, error.to_string());
        if let [flow] = &mut self.flows[..]
            && flow.as_shared().is_none()
        {
            tell(began);
            sleep_until(begin_ns);
            return flow.run(&self.controls[0]).map_err(|error| (0, error.to_string()));
        }
        let mut together = Together::new(&mut self.flows, &self.controls).map_err(named)?;
        tell(began);
        sleep_until(begin_ns);
        together.run().map_err(named)
    }
}
