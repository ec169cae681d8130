//! A line each second while one run goes on: what each end moved.

use model::event::Event;
use model::record::{Role, Sample};

use crate::show_rate;

const SECOND_NS: u64 = 1_000_000_000;

/// What one end has told so far.
#[derive(Default)]
struct End {
    samples: Vec<Sample>,
}

impl End {
    /// What was counted per second from the first to the last reading of the second number `second`.
    fn rate(&self, second: u64, count: fn(&Sample) -> u64) -> Option<f64> {
        let first_ns = self.samples.first()?.at_ns;
        let at = |seconds: u64| {
            self.samples.iter().find(|sample| sample.at_ns + SECOND_NS / 20 >= first_ns + seconds * SECOND_NS)
        };
        let (begin, end) = (at(second)?, at(second + 1)?);
        Some((count(end) - count(begin)) as f64 * 1e9 / (end.at_ns - begin.at_ns) as f64)
    }
}

/// The view of one run.
#[derive(Default)]
pub struct Seconds {
    sender: End,
    receiver: End,
    told: u64,
    transactions: bool,
}

impl Seconds {
    /// The view of a run whose unit is the transaction and not the bit.
    pub fn of_transactions() -> Seconds {
        Seconds { transactions: true, ..Seconds::default() }
    }

    /// Takes an event; gives a line when both ends have told of one more second.
    pub fn line(&mut self, event: &Event) -> Option<String> {
        let Event::Progress { role, sample, .. } = event else { return None };
        match role {
            Role::Sender => self.sender.samples.push(Sample::clone(sample)),
            Role::Receiver => self.receiver.samples.push(Sample::clone(sample)),
        }
        let count: fn(&Sample) -> u64 =
            if self.transactions { |sample| sample.counts.messages } else { |sample| 8 * sample.counts.bytes };
        let show = |rate| if self.transactions { format!("{rate:.0} tr/s") } else { show_rate(rate) };
        let (sent, received) = (self.sender.rate(self.told, count)?, self.receiver.rate(self.told, count)?);
        self.told += 1;
        Some(format!("{:5} s  sender {:>13}  receiver {:>13}", self.told, show(sent), show(received)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(role: Role, at_ms: u64, bytes: u64) -> Event {
        let mut sample = Sample { at_ns: at_ms * 1_000_000, ..Sample::default() };
        sample.counts.bytes = bytes;
        Event::Progress { run: 0, role, sample: Box::new(sample) }
    }

    #[test]
    fn a_second_is_told_when_both_ends_have_told_it() {
        let mut view = Seconds::default();
        assert_eq!(view.line(&told(Role::Sender, 0, 0)), None);
        assert_eq!(view.line(&told(Role::Sender, 1000, 125_000_000)), None);
        assert_eq!(view.line(&told(Role::Receiver, 7000, 0)), None);
        let line = view.line(&told(Role::Receiver, 8000, 62_500_000)).expect("a line");
        assert!(line.contains("1.00 Gbit/s") && line.contains("500 Mbit/s"), "{line}");
    }
}
