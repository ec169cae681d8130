//! The traffic's threads, and the thread that marks the window's edges and samples the counters.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use model::record::{Counts, Role, Sample};
use sys::clock::{monotonic_ns, sleep_until};
use traffic::{Control, Flow, Phase, Sent};
use wire::{FromAgent, Prepare, Start};

use crate::outbox::Outbox;
use crate::sampler::Sampler;
use crate::seat::{Seat, Wish};

/// Time between samples, in ns.
const CADENCE_NS: u64 = 100_000_000;

/// One in this many samples is told to the controller while the run goes on.
const TELL_EVERY: usize = 5;

/// How long after the window a loop may take to come to its end.
const LAST_WORDS: Duration = Duration::from_secs(6);

/// A run in which nothing moves for this long has failed.
const STALL: Duration = Duration::from_secs(10);

/// What the controller says to a run.
pub enum Command {
    /// Begin.
    Start(Start),
    /// The sender has sent this much, by flow.
    Finish(Vec<Sent>),
}

/// What the thread of a run hears.
pub enum Note {
    /// From the controller.
    Command(Command),
    /// A flow's thread runs.
    Began(Began),
    /// A flow's loop came to its end.
    Ended(usize, Ended),
}

/// A flow's thread.
pub struct Began {
    thread_id: i32,
    seat: Seat,
}

/// How a flow's loop ended.
pub type Ended = Result<Box<dyn Flow>, String>;

/// What the watching thread saw.
pub struct Watched {
    pub window_begin_ns: u64,
    pub window_end_ns: u64,
    pub samples: Vec<Sample>,
    /// Where and how the traffic's threads run.
    pub seats: Vec<Seat>,
}

/// The flows of a run, each in its own thread.
pub struct Crew<'a> {
    notes: &'a Receiver<Note>,
    controls: &'a [Arc<Control>],
    starts: VecDeque<Start>,
    sent: Option<Vec<Sent>>,
    began: Vec<Began>,
    flows: Vec<Option<Box<dyn Flow>>>,
    moved: (Counts, Instant),
}

impl<'a> Crew<'a> {
    /// A crew whose flows are not there yet.
    pub fn new(notes: &'a Receiver<Note>, controls: &'a [Arc<Control>]) -> Crew<'a> {
        Crew {
            notes,
            controls,
            starts: VecDeque::new(),
            sent: None,
            began: Vec::new(),
            flows: controls.iter().map(|_| None).collect(),
            moved: (Counts::default(), Instant::now()),
        }
    }

    /// Waits for the controller's word to begin.
    pub fn start(&mut self, patience: Duration) -> Result<Start, String> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(start) = self.starts.pop_front() {
                return Ok(start);
            }
            self.hear(deadline)?.then_some(()).ok_or_else(|| silence(patience))?;
        }
    }

    /// Waits for the controller's word of what the sender sent.
    pub fn told_sent(&mut self, patience: Duration) -> Result<Vec<Sent>, String> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(sent) = self.sent.take() {
                return Ok(sent);
            }
            self.hear(deadline)?.then_some(()).ok_or_else(|| silence(patience))?;
        }
    }

    /// Takes one note; false when none came until the deadline.
    fn hear(&mut self, deadline: Instant) -> Result<bool, String> {
        match self.notes.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Note::Command(Command::Start(start))) => self.starts.push_back(start),
            Ok(Note::Command(Command::Finish(sent))) => {
                self.controls.iter().zip(&sent).for_each(|(control, sent)| control.expect_messages(sent.total));
                self.sent = Some(sent);
            }
            Ok(Note::Began(began)) => self.began.push(began),
            Ok(Note::Ended(index, ended)) => self.flows[index] = Some(ended?),
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => return Err("the controller is gone".into()),
        }
        Ok(true)
    }

    /// Starts each flow in a thread; the first messages go at `begin_ns`.
    pub fn spawn(
        &mut self,
        flows: Vec<Box<dyn Flow>>,
        prepare: &Prepare,
        begin_ns: u64,
        out: &Sender<Note>,
    ) -> Result<(), String> {
        let count = flows.len();
        for (index, flow) in flows.into_iter().enumerate() {
            let (control, wish, out) = (self.controls[index].clone(), Wish::of(prepare, index, count), out.clone());
            let spawned = std::thread::Builder::new().spawn(move || work(index, flow, &control, &wish, begin_ns, &out));
            spawned.map_err(|error| format!("start thread {} of {count}: {error}", index + 1))?;
        }
        let deadline = Instant::now() + LAST_WORDS;
        while self.began.len() < count {
            self.hear(deadline)?.then_some(()).ok_or_else(|| "the traffic's threads did not start".to_owned())?;
        }
        Ok(())
    }

    /// Marks the window's edges at their times and samples the counters between them. A bounded run's
    /// window ends when its flows do.
    pub fn watch(
        &mut self,
        start: Start,
        prepare: &Prepare,
        connections: Vec<OwnedFd>,
        outbox: &Outbox,
    ) -> Result<Watched, String> {
        let bounded = prepare.conditions.is_bounded();
        let threads: Vec<i32> = self.began.iter().map(|began| began.thread_id).collect();
        let mut sampler = Sampler::open(&prepare.device, &threads, connections);
        self.wait_until(start.window_begin_ns, bounded)?;
        self.enter(Phase::Measured);
        let mut samples = vec![sampler.read(self.counts())];
        let window_begin_ns = samples[0].at_ns;
        tell(outbox, &samples);
        for next_ns in (1..).map(|tick| window_begin_ns + tick * CADENCE_NS) {
            if next_ns >= start.window_end_ns || self.wait_until(next_ns, bounded)? {
                break;
            }
            samples.push(sampler.read_between(self.counts()));
            self.check_stall(samples.last())?;
            if samples.len() % TELL_EVERY == 1 {
                tell(outbox, &samples);
            }
        }
        self.wait_until(start.window_end_ns, bounded)?;
        self.enter(Phase::Cooldown);
        samples.push(sampler.read(self.counts()));
        tell(outbox, &samples);
        let window_end_ns = samples.last().map_or(window_begin_ns, |sample| sample.at_ns);
        if prepare.role == Role::Sender {
            self.wait_until(start.stop_ns, bounded)?;
            self.enter(Phase::Over);
        }
        let seats = self.began.iter().map(|began| began.seat.clone()).collect();
        Ok(Watched { window_begin_ns, window_end_ns, samples, seats })
    }

    /// Waits; true when every flow has ended before. In a run that is bounded by time that is an error,
    /// unless the time has come too: on a busy host this thread may be late.
    fn wait_until(&mut self, at_ns: u64, bounded: bool) -> Result<bool, String> {
        let deadline = Instant::now() + Duration::from_nanos(at_ns.saturating_sub(monotonic_ns()));
        loop {
            if self.all_ended() {
                let early = "the traffic ended before the measured window did: the other end stopped";
                let in_time = bounded || Instant::now() >= deadline;
                return if in_time { Ok(bounded) } else { Err(early.into()) };
            }
            if !self.hear(deadline)? {
                return Ok(false);
            }
        }
    }

    fn all_ended(&self) -> bool {
        self.flows.iter().all(Option::is_some)
    }

    /// Enters a phase in every flow.
    pub fn enter(&self, phase: Phase) {
        self.controls.iter().for_each(|control| control.enter(phase));
    }

    fn counts(&self) -> Counts {
        self.controls.iter().fold(Counts::default(), |sum, control| sum.plus(&control.counts().total()))
    }

    fn check_stall(&mut self, sample: Option<&Sample>) -> Result<(), String> {
        let counts = sample.map(|sample| Counts { empty_calls: 0, ..sample.counts }).unwrap_or_default();
        if counts != self.moved.0 {
            self.moved = (counts, Instant::now());
        }
        if self.moved.1.elapsed() < STALL {
            return Ok(());
        }
        Err(format!("nothing moved for {} s ({} bytes until then)", STALL.as_secs(), counts.bytes))
    }

    /// Waits for every loop to come to its end.
    ///
    /// # Errors
    /// Why one failed, or that one did not end.
    pub fn join(mut self) -> Result<Vec<Box<dyn Flow>>, String> {
        let deadline = Instant::now() + LAST_WORDS;
        while !self.all_ended() {
            if !self.hear(deadline)? {
                return Err(format!(
                    "the traffic did not end within {LAST_WORDS:?} after the window: the other end takes nothing"
                ));
            }
        }
        Ok(self.flows.into_iter().flatten().collect())
    }
}

fn silence(patience: Duration) -> String {
    format!("the controller said nothing for {patience:?}")
}

fn tell(outbox: &Outbox, samples: &[Sample]) {
    if let Some(sample) = samples.last() {
        outbox.send(&FromAgent::Progress(sample.clone()));
    }
}

/// The thread of one flow.
fn work(index: usize, mut flow: Box<dyn Flow>, control: &Control, wish: &Wish, begin_ns: u64, out: &Sender<Note>) {
    // The run's thread is gone only when the run is given up.
    let tell = |note| drop(out.send(note));
    match wish.take_seat() {
        Ok(seat) => tell(Note::Began(Began { thread_id: sys::thread::thread_id(), seat })),
        Err(reason) => return tell(Note::Ended(index, Err(reason))),
    }
    if !flow.keeps_new_files() {
        // A thread that may not have a table of its own works with the process's.
        let _ = sys::thread::own_files();
    }
    sleep_until(begin_ns);
    let result = flow.run(control).map(|()| flow).map_err(|error| error.to_string());
    tell(Note::Ended(index, result));
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::sync::mpsc;

    use traffic::{Outcome, TrafficError};

    use super::*;

    struct Nothing;

    impl Flow for Nothing {
        fn handle(&self) -> io::Result<OwnedFd> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn run(&mut self, _control: &Control) -> Result<(), TrafficError> {
            Ok(())
        }

        fn outcome(&self, _sent: Sent) -> Outcome {
            Outcome::default()
        }
    }

    #[test]
    fn traffic_that_ended_in_time_is_no_failure_of_a_late_watcher() {
        let (out, notes) = mpsc::channel();
        let controls = [Arc::default()];
        let mut crew = Crew::new(&notes, &controls);
        out.send(Note::Ended(0, Ok(Box::new(Nothing)))).expect("heard");
        let now_ns = monotonic_ns();
        assert_eq!(crew.wait_until(now_ns - 1, false), Ok(false));
        assert_eq!(crew.wait_until(now_ns - 1, true), Ok(true));
        let early = crew.wait_until(now_ns + 3_600_000_000_000, false);
        assert!(early.is_err_and(|reason| reason.contains("ended before the measured window")));
    }
}
