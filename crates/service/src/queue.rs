//! The queue: a test that measures cost has the host for itself, and a bounded number of tests that
//! measure none take place next to it; others wait for their turn in the order in which they came.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::fingerprint::Fingerprint;
use crate::rules::{Refused, Rule};

/// Most tests that wait, of all clients together; each has a connection and a thread.
pub const WAITING_MAX: usize = 32;

/// The tests that take place or wait, in the order in which they came.
pub struct Queue {
    no_cost_max: usize,
    tests: Mutex<VecDeque<Test>>,
}

struct Test {
    number: u64,
    key: Fingerprint,
    name: String,
    lane: Lane,
    run_until: Option<Instant>,
}

/// Tests that wait for each other alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// One after the other.
    Cost,
    /// As many at the same time as the service allows.
    NoCost,
}

/// A test that wants a place.
pub struct Entrant<'a> {
    /// The key of its client.
    pub key: Fingerprint,
    /// The name of that key.
    pub name: &'a str,
    /// Most tests of the key.
    pub max_tests: u32,
    /// Whether it measures no cost.
    pub no_cost: bool,
}

/// A test's place in the queue, until this is dropped.
pub struct Ticket {
    queue: Arc<Queue>,
    number: u64,
}

/// Why a test waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The name of the client whose test takes place; of several the one that came first.
    pub name: String,
    /// Seconds that its present run takes at least, if that is known.
    pub seconds: Option<u32>,
    /// 1: the next.
    pub place: u32,
}

/// Tests that take place, and tests that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Those that take place.
    pub running: usize,
    /// Those that wait.
    pub waiting: usize,
}

impl Queue {
    /// An empty queue in which this number of tests without cost take place at the same time; with
    /// 0 they wait as all others.
    pub fn new(no_cost_max: usize) -> Queue {
        Queue {
            no_cost_max,
            tests: Mutex::default(),
        }
    }

    fn tests(&self) -> MutexGuard<'_, VecDeque<Test>> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn room(&self, lane: Lane) -> usize {
        match lane {
            Lane::Cost => 1,
            Lane::NoCost => self.no_cost_max,
        }
    }

    fn lengths_of(&self, tests: &VecDeque<Test>) -> Lengths {
        let running = [Lane::Cost, Lane::NoCost].map(|lane| {
            let of_lane = tests.iter().filter(|test| test.lane == lane).count();
            of_lane.min(self.room(lane))
        });
        let running = running.iter().sum();
        Lengths {
            running,
            waiting: tests.len() - running,
        }
    }

    /// How many tests take place, and how many wait.
    pub fn lengths(&self) -> Lengths {
        self.lengths_of(&self.tests())
    }

    /// Enters a test of a key.
    ///
    /// # Errors
    /// The rule that is reached, with its value.
    pub fn enter(self: &Arc<Self>, entrant: &Entrant<'_>) -> Result<Ticket, Refused> {
        let mut tests = self.tests();
        let (key, max_tests) = (entrant.key, entrant.max_tests);
        let of_key = tests.iter().filter(|test| test.key == key).count();
        if of_key >= max_tests as usize {
            let sentence = format!("max-tests is {max_tests}; this key has {of_key}");
            return Err(Rule::MaxTests.refuses(sentence));
        }
        if self.lengths_of(&tests).waiting >= WAITING_MAX {
            let sentence = format!("at most {WAITING_MAX} tests wait, and that many do");
            return Err(Rule::Waiting.refuses(sentence));
        }
        let number = tests.back().map_or(0, |last| last.number + 1);
        let has_lane = entrant.no_cost && self.no_cost_max > 0;
        tests.push_back(Test {
            number,
            key,
            name: entrant.name.to_owned(),
            lane: if has_lane { Lane::NoCost } else { Lane::Cost },
            run_until: None,
        });
        Ok(Ticket {
            queue: self.clone(),
            number,
        })
    }
}

impl Ticket {
    /// Why the test waits; absent: it takes place.
    pub fn behind(&self) -> Option<Behind> {
        let tests = self.queue.tests();
        let own = tests.iter().find(|test| test.number == self.number)?;
        let room = self.queue.room(own.lane);
        let mut of_lane = tests.iter().filter(|test| test.lane == own.lane);
        let place = of_lane
            .clone()
            .position(|test| test.number == self.number)?;
        let first = of_lane.next().filter(|_| place >= room)?;
        let left =
            |until: Instant| until.saturating_duration_since(Instant::now()).as_secs() as u32;
        Some(Behind {
            name: first.name.clone(),
            seconds: first.run_until.map(left),
            place: (place - room + 1) as u32,
        })
    }

    /// Says until when its present run takes place.
    pub fn runs_until(&self, until: Option<Instant>) {
        let mut tests = self.queue.tests();
        if let Some(test) = tests.iter_mut().find(|test| test.number == self.number) {
            test.run_until = until;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.queue.tests().retain(|test| test.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(
        queue: &Arc<Queue>,
        name: &str,
        max_tests: u32,
        no_cost: bool,
    ) -> Result<Ticket, Refused> {
        queue.enter(&Entrant {
            key: Fingerprint::of(name.as_bytes()),
            name,
            max_tests,
            no_cost,
        })
    }

    fn lengths(running: usize, waiting: usize) -> Lengths {
        Lengths { running, waiting }
    }

    #[test]
    fn tests_have_the_host_in_their_order() {
        let queue = Arc::new(Queue::new(4));
        let first = enter(&queue, "alice", 2, false).expect("room");
        let second = enter(&queue, "bob", 1, false).expect("room");
        let third = enter(&queue, "alice", 2, false).expect("room");
        let refused = enter(&queue, "alice", 2, false).err().expect("a rule");
        assert_eq!(refused.rule, Rule::MaxTests);
        assert!(refused.sentence.contains("max-tests is 2"), "{refused}");
        assert_eq!(first.behind(), None);
        let behind = third.behind().expect("it waits");
        assert_eq!((behind.name.as_str(), behind.place), ("alice", 2));
        assert_eq!(queue.lengths(), lengths(1, 2));
        drop(first);
        assert_eq!(second.behind(), None);
        assert_eq!(third.behind().expect("it waits").name, "bob");
        drop(second);
        assert_eq!(third.behind(), None);
        let many: Vec<Ticket> = (0..WAITING_MAX)
            .map(|_| enter(&queue, "bob", 1000, false).expect("room"))
            .collect();
        assert!(enter(&queue, "bob", 1000, false).is_err());
        drop(many);
    }

    #[test]
    fn tests_without_cost_wait_for_each_other_alone() {
        let queue = Arc::new(Queue::new(2));
        let cost = enter(&queue, "alice", 9, false).expect("room");
        let [one, two, three] =
            ["bob", "carol", "dave"].map(|name| enter(&queue, name, 9, true).expect("room"));
        assert_eq!([&cost, &one, &two].map(Ticket::behind), [None, None, None]);
        let behind = three.behind().expect("it waits");
        assert_eq!((behind.name.as_str(), behind.place), ("bob", 1));
        assert_eq!(queue.lengths(), lengths(3, 1));
        let next = enter(&queue, "erin", 9, false).expect("room");
        assert_eq!(next.behind().expect("it waits").name, "alice");
        drop(two);
        assert_eq!(three.behind(), None);
        drop(cost);
        assert_eq!(next.behind(), None);
    }

    #[test]
    fn a_service_may_let_all_tests_wait() {
        let queue = Arc::new(Queue::new(0));
        let cost = enter(&queue, "alice", 9, false).expect("room");
        let waits = enter(&queue, "bob", 9, true).expect("room");
        assert_eq!(waits.behind().expect("it waits").name, "alice");
        drop(cost);
        assert_eq!(waits.behind(), None);
    }
}
