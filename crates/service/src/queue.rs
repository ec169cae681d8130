//! The queue: one test has the host, and a few wait for it in the order in which they came.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Most tests that wait; each has a connection and a thread.
pub const WAITING_MAX: usize = 8;

/// The tests that take place or wait, in the order in which they came.
#[derive(Default)]
pub struct Queue(Mutex<Vec<Weak<()>>>);

/// A test's place in the queue, until this is dropped.
pub type Ticket = Arc<()>;

impl Queue {
    fn tests(&self) -> MutexGuard<'_, Vec<Weak<()>>> {
        let mut tests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tests.retain(|test| test.strong_count() > 0);
        tests
    }

    pub fn enter(&self) -> Result<Ticket, String> {
        let mut tests = self.tests();
        if tests.len() > WAITING_MAX {
            return Err(format!(
                "one test has the host and {WAITING_MAX} wait for it; try again later"
            ));
        }
        let ticket = Ticket::default();
        tests.push(Arc::downgrade(&ticket));
        Ok(ticket)
    }

    pub fn is_next(&self, ticket: &Ticket) -> bool {
        let tests = self.tests();
        tests.first().map(Weak::as_ptr) == Some(Arc::as_ptr(ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn one_test_at_a_time_in_their_order_and_eight_wait() {
        let queue = Queue::default();
        let mut tickets: VecDeque<Ticket> = (0..=WAITING_MAX)
            .map(|_| queue.enter().expect("room"))
            .collect();
        assert!(queue.enter().is_err());
        // One that leaves while it waits makes room.
        drop(tickets.remove(3));
        tickets.push_back(queue.enter().expect("room"));
        while let Some(first) = tickets.pop_front() {
            assert!(queue.is_next(&first));
            assert!(tickets.iter().all(|ticket| !queue.is_next(ticket)));
        }
    }
}
