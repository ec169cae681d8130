//! The traffic's threads, and the thread that marks the window's edges and samples the counters.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use model::record::{Counts, Role, Sample};
use sys::clock::monotonic_ns;
use traffic::{Control, Flow, Phase};
use wire::{Addresses, FromAgent, Prepare, SentCounts, Start};

use crate::crowd::named;
use crate::outbox::Outbox;
use crate::sampler::{Sampler, counted};
use crate::seat::{Seat, Wish};
use crate::worker::{Began, Worker};

/// Time between samples, in ns.
const CADENCE_NS: u64 = 100_000_000;

/// One in this many samples is told to the controller while the run goes on.
const TELL_EVERY: u64 = 5;

/// How long after the window a loop may take to come to its end.
const LAST_WORDS: Duration = Duration::from_secs(6);

/// A run in which nothing moves for this long has failed.
const STALL: Duration = Duration::from_secs(10);

/// How long the loops of a run that is given up may take to end.
const SETTLING: Duration = Duration::from_secs(2);

/// What the controller says to a run.
pub enum Command {
    /// Where the other end listens.
    Meet(Addresses),
    /// Begin.
    Start(Start),
    /// The other end has sent this much.
    Finish(SentCounts),
    /// Give up.
    Stop,
}

/// What the thread of a run hears.
pub enum Note {
    /// From the controller.
    Command(Command),
    /// A traffic thread runs.
    Began(Began),
    /// A flow's loop came to its end.
    Ended(Place, Ended),
}

/// Which flow of which part.
#[derive(Clone, Copy)]
pub struct Place {
    pub part: usize,
    pub flow: usize,
}

/// How a flow's loop ended.
pub type Ended = Result<Box<dyn Flow>, String>;

/// What the watching thread saw.
pub struct Watched {
    pub window_begin_ns: u64,
    pub window_end_ns: u64,
    pub samples: Vec<Sample>,
    /// Where and how the traffic's threads run, each with the part that it belongs to.
    pub seats: Vec<(usize, Seat)>,
}

/// The flows of a part, in order: where they are while their threads run, and what they left.
struct Team {
    ended: Vec<Option<Box<dyn Flow>>>,
    moved: (Counts, Instant),
}

/// The flows of a run, each in its own thread.
pub struct Crew<'a> {
    notes: &'a Receiver<Note>,
    /// Of each part, of each flow.
    controls: &'a [Vec<Arc<Control>>],
    addresses: Option<Addresses>,
    start: Option<Start>,
    sent: Option<SentCounts>,
    began: Vec<Began>,
    teams: Vec<Team>,
    /// Loops that were started and have not come to their end.
    running: usize,
    /// What keeps each thread there until the window's last sample.
    kept: Vec<Sender<()>>,
}

impl<'a> Crew<'a> {
    /// A crew whose flows are not there yet.
    pub fn new(notes: &'a Receiver<Note>, controls: &'a [Vec<Arc<Control>>]) -> Crew<'a> {
        let team = |flows: &Vec<Arc<Control>>| Team {
            ended: flows.iter().map(|_| None).collect(),
            moved: (Counts::default(), Instant::now()),
        };
        Crew {
            notes,
            controls,
            addresses: None,
            start: None,
            sent: None,
            began: Vec::new(),
            teams: controls.iter().map(team).collect(),
            running: 0,
            kept: Vec::new(),
        }
    }

    /// Waits for the controller's word of where the other end listens.
    pub fn told_addresses(&mut self, patience: Duration) -> Result<Addresses, String> {
        self.told(patience, |crew| crew.addresses.take())
    }

    /// Waits for the controller's word to begin.
    pub fn start(&mut self, patience: Duration) -> Result<Start, String> {
        self.told(patience, |crew| crew.start.take())
    }

    /// Waits for the controller's word of what the other end sent.
    pub fn told_sent(&mut self, patience: Duration) -> Result<SentCounts, String> {
        self.told(patience, |crew| crew.sent.take())
    }

    fn told<T>(&mut self, patience: Duration, mut take: impl FnMut(&mut Self) -> Option<T>) -> Result<T, String> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(word) = take(self) {
                return Ok(word);
            }
            if !self.hear(deadline)? {
                return Err(format!("the controller said nothing for {patience:?}"));
            }
        }
    }

    /// Takes one note; false when none came until the deadline.
    fn hear(&mut self, deadline: Instant) -> Result<bool, String> {
        match self.notes.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Note::Command(Command::Meet(addresses))) => self.addresses = Some(addresses),
            Ok(Note::Command(Command::Start(start))) => self.start = Some(start),
            Ok(Note::Command(Command::Finish(sent))) => self.expect(sent),
            Ok(Note::Command(Command::Stop)) => return Err("stopped".into()),
            Ok(Note::Began(began)) => self.began.push(began),
            Ok(Note::Ended(Place { part, flow }, ended)) => {
                self.running -= 1;
                let flows = self.controls[part].len();
                self.teams[part].ended[flow] = Some(ended.map_err(|reason| named(flow, flows, reason))?);
            }
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => return Err("the controller is gone".into()),
        }
        Ok(true)
    }

    /// Receivers of datagrams end when they have all that was sent.
    fn expect(&mut self, sent: SentCounts) {
        for (controls, sent) in self.controls.iter().zip(&sent) {
            controls.iter().zip(sent).for_each(|(control, [_, total])| control.expect_messages(*total));
        }
        self.sent = Some(sent);
    }

    /// Starts the flows in their threads; the first messages go at `begin_ns`.
    pub fn spawn(
        &mut self,
        flows: Vec<Vec<Box<dyn Flow>>>,
        prepare: &Prepare,
        begin_ns: u64,
        out: &Sender<Note>,
    ) -> Result<(), String> {
        let mut count = 0;
        for (part, (asked, flows)) in prepare.parts.iter().zip(flows).enumerate() {
            let workers = Worker::of(part, flows, &self.controls[part], asked.conditions.thread_count());
            let of_part = workers.len();
            for (index, worker) in workers.into_iter().enumerate() {
                let (wish, out) = (Wish::of(asked, &prepare.cpus, index, of_part), out.clone());
                let flows = worker.count();
                let (kept, release) = mpsc::channel();
                self.kept.push(kept);
                let spawned = std::thread::Builder::new().spawn(move || worker.work(&wish, begin_ns, &out, &release));
                spawned.map_err(|error| {
                    format!("start thread {}: {error}; ask for fewer (--threads), or raise ulimit -u", count + 1)
                })?;
                count += 1;
                self.running += flows;
            }
        }
        let deadline = Instant::now() + LAST_WORDS;
        while self.began.len() < count {
            self.hear(deadline)?.then_some(()).ok_or_else(|| "the traffic's threads did not start".to_owned())?;
        }
        Ok(())
    }

    /// The threads of the traffic, each with the part that it belongs to.
    pub fn threads(&self) -> Vec<(usize, i32)> {
        self.began.iter().map(|began| (began.part, began.thread_id)).collect()
    }

    /// Marks the window's edges at their times and samples the counters between them. The window of a run
    /// that is bounded by a count ends when the flows of its first part do.
    pub fn watch(
        &mut self,
        start: Start,
        prepare: &Prepare,
        mut sampler: Sampler,
        outbox: &Outbox,
    ) -> Result<Watched, String> {
        let bounded = prepare.parts.first().is_some_and(|part| part.conditions.is_bounded());
        self.wait_until(start.window_begin_ns, bounded)?;
        self.enter(Phase::Measured);
        let mut samples = vec![sampler.read(self.counts())];
        let window_begin_ns = samples[0].at_ns;
        samples.iter().for_each(|sample| tell(outbox, sample.clone()));
        for tick in 1.. {
            let next_ns = window_begin_ns + tick * CADENCE_NS;
            if next_ns >= start.window_end_ns || self.wait_until(next_ns, bounded)? {
                break;
            }
            let counts = self.counts();
            let read = sampler.read_between(counts.clone());
            self.check_stall(prepare)?;
            if tick % TELL_EVERY == 0 {
                tell(outbox, read.clone().unwrap_or_else(|| counted(counts)));
            }
            samples.extend(read);
        }
        self.wait_until(start.window_end_ns, bounded)?;
        self.enter(Phase::Cooldown);
        samples.push(sampler.read(self.counts()));
        self.kept.clear();
        samples.last().into_iter().for_each(|sample| tell(outbox, sample.clone()));
        let window_end_ns = samples.last().map_or(window_begin_ns, |sample| sample.at_ns);
        if prepare.parts.iter().any(|part| part.role == Role::Sender) {
            // The other end stops when its window is over, and may do so a little before this one.
            self.wait_until(start.stop_ns, true)?;
            self.enter(Phase::Over);
        }
        let seats = self.began.iter().map(|began| (began.part, began.seat.clone())).collect();
        Ok(Watched { window_begin_ns, window_end_ns, samples, seats })
    }

    /// Waits; true when every flow of the first part has ended before. Unless it may, that is an error, but
    /// for the time having come too: on a busy host this thread may be late.
    fn wait_until(&mut self, at_ns: u64, may_end: bool) -> Result<bool, String> {
        let deadline = Instant::now() + Duration::from_nanos(at_ns.saturating_sub(monotonic_ns()));
        loop {
            if self.has_ended(0) {
                let early = "the traffic ended before the measured window did: the other end stopped";
                let in_time = may_end || Instant::now() >= deadline;
                return if in_time { Ok(may_end) } else { Err(early.into()) };
            }
            if !self.hear(deadline)? {
                return Ok(false);
            }
        }
    }

    /// True when every flow of a part has come to its end.
    fn has_ended(&self, part: usize) -> bool {
        self.teams.get(part).is_some_and(|team| team.ended.iter().all(Option::is_some))
    }

    /// Enters a phase in every flow.
    pub fn enter(&self, phase: Phase) {
        self.controls.iter().flatten().for_each(|control| control.enter(phase));
    }

    /// Of each part.
    fn counts(&self) -> Vec<Counts> {
        let sum = |flows: &Vec<Arc<Control>>| {
            flows.iter().fold(Counts::default(), |sum, control| sum.plus(&control.counts().total()))
        };
        self.controls.iter().map(sum).collect()
    }

    fn check_stall(&mut self, prepare: &Prepare) -> Result<(), String> {
        let counts = self.counts().into_iter().map(|counts| Counts { empty_calls: 0, wait_calls: 0, ..counts });
        for ((team, counts), part) in self.teams.iter_mut().zip(counts).zip(&prepare.parts) {
            if counts != team.moved.0 {
                team.moved = (counts, Instant::now());
            }
            if team.moved.1.elapsed() >= STALL {
                let part = part.conditions.phrase();
                let seconds = STALL.as_secs();
                return Err(format!("{part}: nothing moved for {seconds} s ({} bytes until then)", counts.bytes));
            }
        }
        Ok(())
    }

    /// Waits for every loop of the chosen parts to come to its end.
    ///
    /// # Errors
    /// Why one failed, or that one did not end.
    pub fn await_ends(&mut self, of: impl Fn(usize) -> bool) -> Result<(), String> {
        let deadline = Instant::now() + LAST_WORDS;
        while !(0..self.teams.len()).all(|part| !of(part) || self.has_ended(part)) {
            if !self.hear(deadline)? {
                let late = (0..self.teams.len()).filter(|part| of(*part) && !self.has_ended(*part));
                let still = late.map(|part| self.teams[part].moved.1.elapsed()).max().unwrap_or_default();
                return Err(format!(
                    "the traffic did not end within {LAST_WORDS:?} after the window, and nothing was seen to move for {:.1} s: the other end takes nothing, or the path between them is dead",
                    still.as_secs_f64()
                ));
            }
        }
        Ok(())
    }

    /// The flows whose loops have come to their end, of each part.
    pub fn flows(&mut self) -> Vec<Vec<Box<dyn Flow>>> {
        self.teams.iter_mut().map(|team| std::mem::take(&mut team.ended).into_iter().flatten().collect()).collect()
    }

    /// Waits for a moment until nothing runs any more, whatever its end.
    pub fn settle(&mut self) {
        let deadline = Instant::now() + SETTLING;
        while self.running > 0 {
            if let Ok(false) = self.hear(deadline) {
                return;
            }
        }
    }
}

fn tell(outbox: &Outbox, sample: Sample) {
    outbox.offer(&FromAgent::Progress(Box::new(sample)));
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::sync::mpsc;

    use traffic::{Outcome, Sent, TrafficError};

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
        let controls = [vec![Arc::default()]];
        let mut crew = Crew::new(&notes, &controls);
        crew.running = 1;
        out.send(Note::Ended(Place { part: 0, flow: 0 }, Ok(Box::new(Nothing)))).expect("heard");
        let now_ns = monotonic_ns();
        assert_eq!(crew.wait_until(now_ns - 1, false), Ok(false));
        assert_eq!(crew.wait_until(now_ns - 1, true), Ok(true));
        let early = crew.wait_until(now_ns + 3_600_000_000_000, false);
        assert!(early.is_err_and(|reason| reason.contains("ended before the measured window")));
    }
}
