//! The queue: a test has the host for itself, so others wait for their turn in the order in which
//! they came.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::fingerprint::Fingerprint;

/// Most tests that wait, of all clients together; each has a connection and a thread.
pub const WAITING_MAX: usize = 32;

/// The tests that have the host or wait for it; the first one has it.
#[derive(Default)]
pub struct Queue {
    tests: Mutex<VecDeque<Test>>,
}

struct Test {
    number: u64,
    key: Fingerprint,
    name: String,
    run_until: Option<Instant>,
}

/// A test's place in the queue, until this is dropped.
pub struct Ticket {
    queue: Arc<Queue>,
    number: u64,
}

/// Why a test waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The name of the client that has the host.
    pub name: String,
    /// Seconds that its present run takes at least, if that is known.
    pub seconds: Option<u32>,
    /// 1: the next.
    pub place: u32,
}

impl Queue {
    fn tests(&self) -> MutexGuard<'_, VecDeque<Test>> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a test of a key, which may have `max_tests` at the same time.
    ///
    /// # Errors
    /// The rule that is reached, with its value.
    pub fn enter(
        self: &Arc<Self>,
        key: Fingerprint,
        name: &str,
        max_tests: u32,
    ) -> Result<Ticket, String> {
        let mut tests = self.tests();
        let of_key = tests.iter().filter(|test| test.key == key).count();
        if of_key >= max_tests as usize {
            return Err(format!("max-tests is {max_tests}; this key has {of_key}"));
        }
        if tests.len() > WAITING_MAX {
            return Err(format!("at most {WAITING_MAX} tests wait, and as many do"));
        }
        let number = tests.back().map_or(0, |last| last.number + 1);
        tests.push_back(Test {
            number,
            key,
            name: name.to_owned(),
            run_until: None,
        });
        Ok(Ticket {
            queue: self.clone(),
            number,
        })
    }
}

impl Ticket {
    /// Why the test waits; absent: it has the host.
    pub fn behind(&self) -> Option<Behind> {
        let tests = self.queue.tests();
        let place = tests.iter().position(|test| test.number == self.number)?;
        let first = tests.front().filter(|_| place > 0)?;
        let left =
            |until: Instant| until.saturating_duration_since(Instant::now()).as_secs() as u32;
        Some(Behind {
            name: first.name.clone(),
            seconds: first.run_until.map(left),
            place: place as u32,
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

    #[test]
    fn tests_have_the_host_in_their_order() {
        let queue: Arc<Queue> = Arc::default();
        let (a, b) = (Fingerprint::of(b"a"), Fingerprint::of(b"b"));
        let first = queue.enter(a, "alice", 2).expect("room");
        let second = queue.enter(b, "bob", 1).expect("room");
        let third = queue.enter(a, "alice", 2).expect("room");
        assert!(
            queue
                .enter(a, "alice", 2)
                .err()
                .expect("a rule")
                .contains("max-tests is 2")
        );
        assert_eq!(first.behind(), None);
        let behind = third.behind().expect("it waits");
        assert_eq!((behind.name.as_str(), behind.place), ("alice", 2));
        drop(first);
        assert_eq!(second.behind(), None);
        assert_eq!(third.behind().expect("it waits").name, "bob");
        drop(second);
        assert_eq!(third.behind(), None);
        let many: Vec<Ticket> = (0..WAITING_MAX)
            .map(|_| queue.enter(b, "bob", 1000).expect("room"))
            .collect();
        assert!(queue.enter(b, "bob", 1000).is_err());
        drop(many);
    }
}
