//! The readings of the present run, for a run that the user stops before it has a record.

use bitcost_model::event::{Event, FailureKind, StoppedRun};
use bitcost_model::record::{Role, Sample};

/// The first and the last reading of both endpoints.
#[derive(Default)]
pub struct Window(StoppedRun);

impl Window {
    /// Takes an event; returns the one to record instead, if it is the end of a run that was
    /// stopped after both endpoints had measured something.
    pub fn take(&mut self, event: &Event) -> Option<Event> {
        match event {
            Event::RunBegan { .. } => self.0 = StoppedRun::default(),
            Event::Progress { role, sample, .. } => match role {
                Role::Sender => add(&mut self.0.sender, sample),
                Role::Receiver => add(&mut self.0.receiver, sample),
            },
            Event::RunFailed {
                run,
                kind: kind @ FailureKind::Interrupted,
                reason,
                host_lacks,
                until_stopped: None,
            } if self.has_both() => {
                return Some(Event::RunFailed {
                    run: *run,
                    kind: *kind,
                    reason: reason.clone(),
                    host_lacks: *host_lacks,
                    until_stopped: Some(Box::new(std::mem::take(&mut self.0))),
                });
            }
            _ => {}
        }
        None
    }

    fn has_both(&self) -> bool {
        [&self.0.sender, &self.0.receiver]
            .iter()
            .all(|samples| samples.len() > 1)
    }
}

fn add(samples: &mut Vec<Sample>, sample: &Sample) {
    samples.truncate(1);
    samples.push(sample.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(role: Role, at_ns: u64) -> Event {
        let sample = Box::new(Sample {
            at_ns,
            ..Sample::default()
        });
        Event::Progress {
            run: 0,
            role,
            sample,
        }
    }

    fn stopped() -> Event {
        Event::RunFailed {
            run: 0,
            kind: FailureKind::Interrupted,
            reason: "stopped by the user".to_owned(),
            host_lacks: false,
            until_stopped: None,
        }
    }

    #[test]
    fn a_stopped_run_keeps_the_edges_of_what_was_measured() {
        let mut window = Window::default();
        for at_ns in 1..=3 {
            assert_eq!(window.take(&reading(Role::Sender, at_ns)), None);
            assert_eq!(window.take(&stopped()), None);
            assert_eq!(window.take(&reading(Role::Receiver, 10 + at_ns)), None);
            if at_ns == 1 {
                assert_eq!(window.take(&stopped()), None, "one reading is no time");
            } else if at_ns == 2 {
                break;
            }
        }
        let Some(Event::RunFailed { until_stopped, .. }) = window.take(&stopped()) else {
            panic!("no event");
        };
        let kept = until_stopped.expect("kept");
        let times = |samples: &[Sample]| samples.iter().map(|s| s.at_ns).collect::<Vec<_>>();
        assert_eq!(
            (times(&kept.sender), times(&kept.receiver)),
            (vec![1, 2], vec![11, 12])
        );
        window.take(&reading(Role::Sender, 20));
        window.take(&Event::RunBegan {
            run: 1,
            at: String::new(),
        });
        assert_eq!(window.take(&stopped()), None, "the next run starts anew");
    }
}
