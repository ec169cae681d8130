//! Looks at the traffic's threads between two readings: in which state one of them is found (`/proc/PID/task/TID/stat`,
//! proc_pid_stat(5)), and for how long this process was stopped.
//!
//! A process that a signal or the freezer of control groups stops, alone or with its machine, cannot look at itself: its
//! timers come late, and it did not wait for a CPU meanwhile (`schedstat`).

use bitcost_model::record::{Sample, States, ThreadKind};
use bitcost_sys::clock::monotonic_ns;

use crate::read::Kept;
use crate::source::Thread;
use crate::threads::{folder, parse_time};

/// From this delay on, a timer is late: those of an idle machine are late by less.
const LATE_NS: u64 = 2_000_000;

#[derive(Debug, Default)]
pub struct Looks {
    traffic: Vec<(Option<Kept>, States)>,
    /// The traffic thread that is looked at next.
    next: usize,
    /// `schedstat` of the thread that looks.
    own: Option<Kept>,
    waited_ns: u64,
    last_ns: u64,
    paused_ns: u64,
}

impl Looks {
    /// For the calling thread, which looks at these.
    pub fn open<'a>(traffic: impl Iterator<Item = &'a Thread>) -> Looks {
        let state = |thread| Kept::open(format!("{}/stat", folder(thread)));
        Looks {
            traffic: traffic
                .map(|thread| (state(thread), States::default()))
                .collect(),
            own: Kept::open("/proc/thread-self/schedstat"),
            ..Looks::default()
        }
    }

    pub fn begin(&mut self) {
        self.waited_ns = self.waited().unwrap_or_default();
        self.last_ns = monotonic_ns();
    }

    /// Looks at one of the threads, after a wait until `due_ns`.
    pub fn look(&mut self, due_ns: u64) {
        let now_ns = monotonic_ns();
        if let Some(waited_ns) = self.waited() {
            let late_ns = now_ns.saturating_sub(due_ns.max(self.last_ns));
            let late_ns = late_ns.saturating_sub(waited_ns.saturating_sub(self.waited_ns));
            if late_ns >= LATE_NS {
                self.paused_ns += late_ns;
            }
            self.waited_ns = waited_ns;
        }
        self.last_ns = now_ns;
        self.next = (self.next + 1) % self.traffic.len().max(1);
        if let Some((Some(file), states)) = self.traffic.get_mut(self.next) {
            match file.lines().and_then(parse) {
                Some('T' | 't') => states.stopped += 1,
                Some('D') => states.uninterruptible += 1,
                Some(_) => {}
                None => return,
            }
            states.looks += 1;
        }
    }

    /// Adds what was found so far to a reading.
    pub fn write(&self, sample: &mut Sample) {
        sample.paused_ns = self.paused_ns;
        let is_traffic = |kind| kind == ThreadKind::Traffic;
        let read = sample.threads.iter().filter(|one| is_traffic(one.kind));
        if read.count() == self.traffic.len() {
            let traffic = sample.threads.iter_mut().filter(|one| is_traffic(one.kind));
            for (thread, (_, states)) in traffic.zip(&self.traffic) {
                thread.states = Some(*states);
            }
        }
    }

    /// How long this thread has waited for a CPU.
    fn waited(&mut self) -> Option<u64> {
        let time = parse_time(ThreadKind::Traffic, self.own.as_mut()?.lines()?)?;
        Some(time.wait_ns)
    }
}

/// The state in a `stat` file; the name before it may contain anything.
fn parse(text: &str) -> Option<char> {
    text.rsplit_once(") ")?.1.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_thread_did_not_sleep_itself_is_a_pause() {
        let id = bitcost_sys::thread::thread_id().cast_unsigned();
        let own = Thread {
            kind: ThreadKind::Traffic,
            part: 0,
            id,
            process: None,
        };
        let mut looks = Looks::open([own].iter());
        if looks.waited().is_none() {
            return;
        }
        looks.begin();
        let begun = looks.last_ns;
        looks.look(monotonic_ns());
        assert!(looks.paused_ns < LATE_NS, "{looks:?}");
        std::thread::sleep(std::time::Duration::from_millis(30));
        looks.look(begun);
        // A busy machine may have it wait for a CPU for longer.
        let waited = looks.waited().expect("as before");
        assert!(looks.paused_ns + waited >= 25_000_000, "{looks:?}");
        looks.look(begun);
        assert!(looks.paused_ns < looks.last_ns - begun, "{looks:?}");
        assert_eq!(
            (looks.traffic[0].1.looks, looks.traffic[0].1.stopped),
            (3, 0)
        );
    }

    #[test]
    fn the_state_follows_a_name_that_may_contain_anything() {
        assert_eq!(parse("7 (a) R (b) D 1 2\n"), Some('D'));
        assert_eq!(parse("7 (a"), None);
    }
}
