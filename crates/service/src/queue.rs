//! The queue: one test has the host, and a few wait for it in the order in which they came.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::message::Refused;

/// Most tests that wait; each has a connection and a thread.
pub const WAITING_MAX: usize = 8;

/// The tests that take place or wait, in the order in which they came.
#[derive(Default)]
pub struct Queue(Mutex<VecDeque<u64>>);

/// A test's place in the queue, until this is dropped.
pub struct Ticket {
    queue: Arc<Queue>,
    number: u64,
}

impl Queue {
    fn tests(&self) -> MutexGuard<'_, VecDeque<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a test.
    ///
    /// # Errors
    /// Too many wait.
    pub fn enter(self: &Arc<Self>) -> Result<Ticket, Refused> {
        let mut tests = self.tests();
        if tests.len() > WAITING_MAX {
            return Err(Refused(format!(
                "one test has the host and {WAITING_MAX} wait for it; try again later"
            )));
        }
        let number = tests.back().map_or(0, |last| last + 1);
        tests.push_back(number);
        Ok(Ticket {
            queue: self.clone(),
            number,
        })
    }
}

impl Ticket {
    /// Whether the test has the host.
    pub fn is_next(&self) -> bool {
        self.queue.tests().front() == Some(&self.number)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.queue.tests().retain(|test| *test != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_test_at_a_time_in_their_order_and_eight_wait() {
        let queue = Arc::<Queue>::default();
        let mut tickets: VecDeque<Ticket> = (0..=WAITING_MAX)
            .map(|_| queue.enter().expect("room"))
            .collect();
        assert!(queue.enter().is_err());
        // One that leaves while it waits makes room.
        drop(tickets.remove(3));
        tickets.push_back(queue.enter().expect("room"));
        while let Some(first) = tickets.pop_front() {
            assert!(first.is_next());
            assert!(tickets.iter().all(|ticket| !ticket.is_next()));
        }
    }
}
