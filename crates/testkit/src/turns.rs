//! Who may run: some at the same time, or one alone when none of those is left.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Turns of threads.
pub(crate) struct Turns {
    /// The most that run at the same time.
    most: usize,
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Default)]
struct Now {
    /// Those that wait to run with others.
    waiting: usize,
    running: usize,
    is_one_alone: bool,
}

impl Turns {
    pub(crate) fn new(most: usize) -> Turns {
        Turns {
            most,
            now: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Runs it with others at the same time.
    pub(crate) fn with_others<T>(&self, run: impl FnOnce() -> T) -> T {
        self.now().waiting += 1;
        let mut now = self.wait_while(|now| now.is_one_alone || now.running >= self.most);
        now.waiting -= 1;
        now.running += 1;
        drop(now);
        let result = run();
        self.now().running -= 1;
        self.changed.notify_all();
        result
    }

    /// Runs it alone, after all that wait to run with others.
    pub(crate) fn alone<T>(&self, run: impl FnOnce() -> T) -> T {
        self.wait_while(|now| now.is_one_alone || now.running + now.waiting > 0)
            .is_one_alone = true;
        let result = run();
        self.now().is_one_alone = false;
        self.changed.notify_all();
        result
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, is_to_wait: impl Fn(&Now) -> bool) -> MutexGuard<'_, Now> {
        self.changed
            .wait_while(self.now(), |now| is_to_wait(now))
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread::{scope, yield_now};

    use super::Turns;

    #[test]
    fn one_alone_runs_after_all_that_wait() {
        let turns = Turns::new(1);
        let ran = Mutex::new(Vec::new());
        let note = |name| ran.lock().unwrap().push(name);
        scope(|threads| {
            turns.with_others(|| {
                threads.spawn(|| turns.alone(|| note("alone")));
                threads.spawn(|| turns.with_others(|| note("second")));
                while turns.now().waiting == 0 {
                    yield_now();
                }
                note("first");
            });
        });
        assert_eq!(ran.into_inner().unwrap(), ["first", "second", "alone"]);
    }
}
