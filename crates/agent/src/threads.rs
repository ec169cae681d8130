//! The threads of a run's traffic, as seen by the thread that marks the edges of the window and
//! samples the counters.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use bitcost_model::protocol::{
    Addresses, DRAIN_MAX, FromAgent, Origin, Peer, Prepare, SentCounts, Start, ToAgent,
};
use bitcost_model::readings::Readings;
use bitcost_model::record::{Counts, Role, Sample};
use bitcost_sys::clock::monotonic_ns;
use bitcost_traffic::{Control, DRAIN_TIMEOUT, Flow, Phase};

use crate::abort::Abort;
use crate::affinity;
use crate::connect::named;
use crate::events::{Event, FlowIndex, Started};
use crate::output::Output;
use crate::profile::Profiler;
use crate::refusal::Refusal;
use crate::sampler::Sampler;
use crate::worker::Worker;

/// The interval between two readings in the window.
const INTERVAL_NS: u64 = 100_000_000;

/// The interval at which a thread's state is looked at, and whether this process was stopped.
const LOOK_NS: u64 = 20_000_000;

/// The time after the window at which the other endpoint's has ended, too, and counting what was sampled
/// on both takes none of their CPU time. The sender sends for longer, so that the threads still live.
const APART_NS: u64 = 4_000_000;

/// One in this many samples is sent to the controller during the run.
const PROGRESS_EVERY: u64 = 5;

/// The interval at which it is checked whether what was sent still arrives.
const DRAIN_LOOK: Duration = Duration::from_millis(100);

/// The time that a loop may take to start, or to end after the window without any data that moves: less than it waits itself,
/// so that what was measured is kept.
const LOOP_TIMEOUT: Duration = Duration::from_secs(DRAIN_TIMEOUT.as_secs() - 2);

/// The same of connections on which no data of the run ever passed.
const UNHEARD: Duration = Duration::from_secs(1);

/// The time that the end of the other endpoint's traffic may be ahead of the command that ended it.
const END_TIMEOUT: Duration = Duration::from_secs(1);

/// The time that the loops of an aborted run may take to end.
const ABORT_TIMEOUT: Duration = Duration::from_secs(2);

pub struct Watched {
    pub window_start_ns: u64,
    pub window_end_ns: u64,
    pub samples: Vec<Sample>,
    /// The CPUs that each traffic thread is pinned to, with the part that it belongs to.
    pub pinned: Vec<(usize, Vec<u32>)>,
    /// What sampled the CPUs in the window, where the run is profiled.
    pub profiler: Option<Profiler>,
}

struct PartFlows {
    /// Absent while the flow's loop runs.
    ended: Vec<Option<Box<dyn Flow>>>,
    /// The messages and bytes that differed from those before, and the time at which they were read.
    moved: ([u64; 2], Instant),
    /// Bytes in the send queues when no call had returned.
    queued: u64,
}

/// Why the traffic ends before its time.
#[derive(Clone, Copy)]
enum End {
    Asked,
    /// No data moved for this long, which is as long as the run waits.
    Stalled(Duration),
}

/// The threads of a run, and what they and the controller have reported.
pub struct Threads<'a> {
    events: &'a Receiver<Event>,
    controls: &'a [Vec<Arc<Control>>],
    peer: Option<(Addresses, Option<Origin>)>,
    start: Option<Start>,
    sent: Option<SentCounts>,
    end: Option<End>,
    pub started: Vec<Started>,
    parts: Vec<PartFlows>,
    running: usize,
    /// Keeps each thread alive until the last sample of the window: dropping a sender lets its
    /// thread end.
    kept: Vec<Sender<u64>>,
}

impl<'a> Threads<'a> {
    pub fn new(events: &'a Receiver<Event>, controls: &'a [Vec<Arc<Control>>]) -> Threads<'a> {
        let part = |flows: &Vec<Arc<Control>>| PartFlows {
            ended: flows.iter().map(|_| None).collect(),
            moved: ([0; 2], Instant::now()),
            queued: 0,
        };
        Threads {
            events,
            controls,
            peer: None,
            start: None,
            sent: None,
            end: None,
            started: Vec::new(),
            parts: controls.iter().map(part).collect(),
            running: 0,
            kept: Vec::new(),
        }
    }

    /// Waits until the controller has sent the addresses on which the other endpoint listens, and
    /// what started its processes.
    pub fn await_peer(&mut self) -> Result<(Addresses, Option<Origin>), Refusal> {
        self.await_command(|threads| threads.peer.take())
    }

    pub fn await_start(&mut self) -> Result<Start, Refusal> {
        self.await_command(|threads| threads.start.take())
    }

    /// Waits until the controller has sent the number of messages that the other endpoint sent.
    pub fn await_sent(&mut self) -> Result<SentCounts, Refusal> {
        self.await_command(|threads| threads.sent.take())
    }

    /// Waits for a command as long as the lease holds: its end stops the run.
    fn await_command<T>(
        &mut self,
        mut take: impl FnMut(&mut Self) -> Option<T>,
    ) -> Result<T, Refusal> {
        loop {
            if let Some(value) = take(self) {
                return Ok(value);
            }
            self.handle_event(Instant::now() + LOOP_TIMEOUT)?;
        }
    }

    /// The time without data that ended the traffic; absent where nothing or something else did.
    pub fn stalled_ms(&self) -> Option<u64> {
        match self.end? {
            End::Asked => None,
            End::Stalled(still) => Some(still.as_millis() as u64),
        }
    }

    /// Handles one event; false when there was none before the deadline.
    fn handle_event(&mut self, deadline: Instant) -> Result<bool, Refusal> {
        match self
            .events
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            Ok(Event::Command(ToAgent::Meet { addresses, origin })) => {
                self.peer = Some((addresses, origin));
            }
            Ok(Event::Command(ToAgent::Start(start))) => self.start = Some(start),
            Ok(Event::Command(ToAgent::End)) => self.end = self.end.or(Some(End::Asked)),
            Ok(Event::Command(ToAgent::Finish { sent })) => self.expect(sent),
            // The run is dropped.
            Ok(Event::Command(_)) => return Err("stopped".into()),
            Ok(Event::Started(started)) => self.started.push(started),
            Ok(Event::Ended(FlowIndex { part, flow }, ended)) => {
                self.running -= 1;
                let flows = self.controls[part].len();
                let ended = ended.map_err(|refusal| Refusal {
                    reason: named(flow, flows, refusal.reason),
                    ..refusal
                });
                self.parts[part].ended[flow] = Some(ended?);
            }
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => return Err("the controller is gone".into()),
        }
        Ok(true)
    }

    /// Gives receivers of datagrams the number of sent messages: they end when they have them all.
    fn expect(&mut self, sent: SentCounts) {
        for (controls, sent) in self.controls.iter().zip(&sent) {
            controls
                .iter()
                .zip(sent)
                .for_each(|(control, [_, total])| control.expect_messages(*total));
        }
        self.sent = Some(sent);
    }

    /// Starts the threads, which wait for [`Threads::begin`].
    pub fn spawn(
        &mut self,
        flows: Vec<Vec<Box<dyn Flow>>>,
        prepare: &Prepare,
        out: &Sender<Event>,
    ) -> Result<(), Refusal> {
        let name = prepare.parts.first().map_or("", |first| first.role.name());
        for (part, (asked, flows)) in prepare.parts.iter().zip(flows).enumerate() {
            let of_part = flows.len();
            for (number, (flow, control)) in flows.into_iter().zip(&self.controls[part]).enumerate()
            {
                let cpus = affinity::request(asked, &prepare.cpus, number, of_part);
                let out = out.clone();
                let worker = Worker {
                    place: FlowIndex { part, flow: number },
                    flow,
                    control: control.clone(),
                    discards_rest: prepare.discards_rest(part),
                };
                let (kept, begin) = mpsc::channel();
                let receives =
                    asked.role == Role::Receiver && asked.conditions.workload.is_datagram();
                if receives && prepare.peer == Peer::Iperf3 {
                    // Its server sends before the run begins, and more than a socket holds.
                    let _ = kept.send(0);
                }
                self.kept.push(kept);
                let spawned = std::thread::Builder::new()
                    .name(name.to_owned())
                    .spawn(move || worker.work(&cpus, &out, &begin));
                spawned.map_err(|error| {
                    format!(
                        "start thread {}: {error}; request fewer flows (-P), or raise ulimit -u",
                        self.running + 1
                    )
                })?;
                self.running += 1;
            }
        }
        let deadline = Instant::now() + LOOP_TIMEOUT;
        while self.started.len() < self.running {
            self.handle_event(deadline)?
                .then_some(())
                .ok_or("the traffic threads did not start")?;
        }
        Ok(())
    }

    /// Has the threads send their first messages at a time.
    pub fn begin(&self, begin_ns: u64) {
        for thread in &self.kept {
            let _ = thread.send(begin_ns);
        }
    }

    /// Marks the edges of the window at their times and samples the counters between them. The
    /// window of a run that is bounded by a count ends when the flows of its first part do.
    pub fn watch(
        &mut self,
        start: Start,
        prepare: &Prepare,
        mut sampler: Sampler,
        output: &Output,
        abort: &Abort,
    ) -> Result<Watched, Refusal> {
        let bounded = prepare
            .parts
            .first()
            .is_some_and(|part| part.conditions.is_bounded());
        // Until now there were only connections to make.
        let parts = self.parts.iter_mut();
        parts.for_each(|part| part.moved.1 = Instant::now());
        self.wait_until(start.window_start_ns, bounded)?;
        if self.end.is_some() {
            return Err("stopped before the window".into());
        }
        sampler.profiler.as_mut().map_or(Ok(()), Profiler::begin)?;
        self.enter(Phase::Measured);
        let first = sampler.read(sums(self.controls));
        let first_ns = first.at_ns;
        // The first of many threads have moved data of a counted run since its start.
        let window_start_ns = match bounded {
            true => first_ns.min(start.window_start_ns),
            false => first_ns,
        };
        send_progress(output, first.clone());
        let mut readings = Readings::default();
        readings.push(first);
        for tick in 1.. {
            let next_ns = first_ns + tick * INTERVAL_NS;
            if next_ns >= start.window_end_ns || self.look_until(next_ns, bounded, &mut sampler)? {
                break;
            }
            let read = sampler.read_between(sums(self.controls));
            self.note_stall(prepare, abort);
            if tick % PROGRESS_EVERY == 0 {
                send_progress(output, read.clone());
            }
            readings.push(read);
        }
        self.look_until(start.window_end_ns, bounded, &mut sampler)?;
        self.enter(Phase::Cooldown);
        let last = sampler.read(sums(self.controls));
        if let Some(profiler) = &mut sampler.profiler {
            profiler.end();
            self.wait_until(start.window_end_ns + APART_NS, true)?;
            profiler.count();
        }
        self.kept.clear();
        send_progress(output, last.clone());
        let window_end_ns = last.at_ns;
        readings.push(last);
        if prepare.parts.iter().any(|part| part.role == Role::Sender) {
            // The other endpoint stops at the end of its window, which may be slightly earlier.
            self.wait_until(start.stop_ns, true)?;
            self.enter(Phase::Over);
        }
        let started = self.started.iter();
        let pinned = started.map(|started| (started.part, started.cpus.clone()));
        Ok(Watched {
            window_start_ns,
            window_end_ns,
            samples: readings.all(),
            pinned: pinned.collect(),
            profiler: sampler.profiler,
        })
    }

    /// Waits until a time; true when every flow of the first part has ended before, or the window is to end now.
    ///
    /// # Errors
    /// When they ended early although they may not, and no command to end comes. It is no error when the time has passed,
    /// too: on a busy host this thread may be late.
    fn wait_until(&mut self, at_ns: u64, may_end: bool) -> Result<bool, Refusal> {
        let deadline = Instant::now() + Duration::from_nanos(at_ns.saturating_sub(monotonic_ns()));
        loop {
            if self.end.is_some() {
                return Ok(true);
            }
            if self.has_ended(0) {
                if may_end || Instant::now() >= deadline {
                    return Ok(may_end);
                }
                let patience = Instant::now() + END_TIMEOUT;
                while self.end.is_none() {
                    if !self.handle_event(patience)? {
                        return Err("the traffic ended before the measured window did: the other endpoint stopped".into());
                    }
                }
                return Ok(true);
            }
            if !self.handle_event(deadline)? {
                return Ok(false);
            }
        }
    }

    /// Waits as [`Threads::wait_until`] does, and looks at the traffic's threads meanwhile.
    fn look_until(
        &mut self,
        at_ns: u64,
        may_end: bool,
        sampler: &mut Sampler,
    ) -> Result<bool, Refusal> {
        // What was read meanwhile is no time in which it stood.
        sampler.looks.begin();
        loop {
            let due_ns = at_ns.min(monotonic_ns() + LOOK_NS);
            if self.wait_until(due_ns, may_end)? {
                return Ok(true);
            }
            sampler.looks.look(due_ns);
            if due_ns == at_ns {
                return Ok(false);
            }
        }
    }

    fn has_ended(&self, part: usize) -> bool {
        self.parts
            .get(part)
            .is_some_and(|part| part.ended.iter().all(Option::is_some))
    }

    pub fn enter(&self, phase: Phase) {
        self.controls
            .iter()
            .flatten()
            .for_each(|control| control.enter(phase));
    }

    /// Has the window end where no data of some part has moved for as long as the run waits.
    fn note_stall(&mut self, prepare: &Prepare, abort: &Abort) {
        self.has_moved();
        for (index, (flows, part)) in self.parts.iter_mut().zip(&prepare.parts).enumerate() {
            // A call with much data returns late. A queue of datagrams moves without a path, too.
            let is_stream = part.conditions.workload.is_byte_stream();
            if is_stream && flows.moved.1.elapsed() >= Duration::from_nanos(INTERVAL_NS) {
                let queued = abort.queued_bytes_of(|of| of == index);
                if queued != flows.queued {
                    (flows.queued, flows.moved.1) = (queued, Instant::now());
                }
            }
        }
        let parts = self.parts.iter().zip(&prepare.parts);
        let still = parts.map(|(flows, part)| (flows.moved.1.elapsed(), &part.conditions));
        let mut stalled = still.filter(|(still, of)| *still >= of.outage_timeout() + of.pause());
        if let Some((still, _)) = stalled.next() {
            self.end = self.end.or(Some(End::Stalled(still)));
        }
    }

    /// Waits until every loop of the chosen parts has ended, as long as data moves, and for
    /// [`DRAIN_MAX`] at most. Then all of them are ended, and the run is kept as it was at the end of
    /// the window.
    pub fn await_ends(
        &mut self,
        watched: &Watched,
        abort: &Abort,
        is_chosen: impl Fn(usize) -> bool,
    ) -> Result<(), Refusal> {
        let until_ns = watched.window_end_ns + DRAIN_MAX.as_nanos() as u64;
        let (mut queued, mut drained) = (abort.queued_bytes(), Instant::now());
        while !(0..self.parts.len()).all(|part| !is_chosen(part) || self.has_ended(part)) {
            self.handle_event(Instant::now() + DRAIN_LOOK)?;
            let left = abort.queued_bytes();
            if self.has_moved() || left != queued {
                (queued, drained) = (left, Instant::now());
            }
            let still = drained.elapsed();
            let is_still = still >= LOOP_TIMEOUT || still >= UNHEARD && abort.is_unheard();
            if is_still {
                let still = self.parts.iter().map(|part| part.moved.1.elapsed());
                let longest = still.max().unwrap_or_default();
                self.end = self.end.or(Some(End::Stalled(longest)));
            }
            if is_still || monotonic_ns() >= until_ns {
                abort.stop_traffic();
            }
        }
        Ok(())
    }

    /// Whether some part's data have moved since this last looked.
    fn has_moved(&mut self) -> bool {
        let mut has_moved = false;
        for (part, counts) in self.parts.iter_mut().zip(sums(self.controls)) {
            let now = [counts.messages, counts.bytes];
            if now != part.moved.0 {
                part.moved = (now, Instant::now());
                has_moved = true;
            }
        }
        has_moved
    }

    pub fn flows(&mut self) -> Vec<Vec<Box<dyn Flow>>> {
        self.parts
            .iter_mut()
            .map(|part| {
                std::mem::take(&mut part.ended)
                    .into_iter()
                    .flatten()
                    .collect()
            })
            .collect()
    }

    /// Waits for a bounded time until every loop has ended, with or without error.
    pub fn await_abort(&mut self) {
        self.kept.clear();
        let deadline = Instant::now() + ABORT_TIMEOUT;
        while self.running > 0 {
            if let Ok(false) = self.handle_event(deadline) {
                return;
            }
        }
    }
}

fn sums(controls: &[Vec<Arc<Control>>]) -> Vec<Counts> {
    let sum = |flows: &Vec<Arc<Control>>| {
        flows.iter().fold(Counts::default(), |sum, control| {
            sum.plus(&control.counts().total())
        })
    };
    controls.iter().map(sum).collect()
}

fn send_progress(output: &Output, sample: Sample) {
    output.offer(&FromAgent::Progress(Box::new(sample)));
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::sync::mpsc;

    use bitcost_traffic::{Traffic, TrafficError};

    use super::*;

    struct Nothing;

    impl Flow for Nothing {
        fn handle(&self) -> io::Result<OwnedFd> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    impl Traffic for Nothing {
        fn run(&mut self, _control: &Control) -> Result<(), TrafficError> {
            Ok(())
        }
    }

    #[test]
    fn traffic_end_is_accepted_when_the_waiting_thread_is_late() {
        let (out, events) = mpsc::channel();
        let controls = [vec![Arc::default()]];
        let mut threads = Threads::new(&events, &controls);
        threads.running = 1;
        out.send(Event::Ended(
            FlowIndex { part: 0, flow: 0 },
            Ok(Box::new(Nothing)),
        ))
        .expect("heard");
        let now_ns = monotonic_ns();
        assert_eq!(threads.wait_until(now_ns - 1, false), Ok(false));
        assert_eq!(threads.wait_until(now_ns - 1, true), Ok(true));
        let early = threads.wait_until(now_ns + 3_600_000_000_000, false);
        assert!(
            early.is_err_and(|refusal| refusal.reason.contains("ended before the measured window"))
        );
    }
}
