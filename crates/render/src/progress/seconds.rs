//! A line each second during one run: the data that each endpoint carried.

use bitcost_analysis::log::PlaceFacts;
use bitcost_analysis::metrics::{PartRun, parts};
use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::record::{EndpointRecord, Role, Sample};
use bitcost_model::units::KIB;

use crate::progress::rate_of;

const SECOND_NS: u64 = 1_000_000_000;

/// The samples of an endpoint from the begin of the second that comes next.
#[derive(Default)]
struct Reported {
    first_ns: u64,
    samples: Vec<Sample>,
}

impl Reported {
    fn add(&mut self, sample: Sample) {
        if self.samples.is_empty() {
            self.first_ns = sample.at_ns;
        }
        self.samples.push(sample);
    }

    /// The place of the sample with which the second of this number begins.
    fn begin(&self, second: u64) -> Option<usize> {
        let begin_ns = self.first_ns + second * SECOND_NS;
        let mut samples = self.samples.iter();
        samples.position(|sample| sample.at_ns + SECOND_NS / 20 >= begin_ns)
    }

    /// The samples that are in the second with this number.
    fn second(&self, second: u64) -> Option<&[Sample]> {
        Some(&self.samples[self.begin(second)?..=self.begin(second + 1)?])
    }
}

/// `  retr 0  cwnd 1200 KiB`, as iperf3's columns: the segments that were retransmitted between two
/// samples, and the congestion window at the end; absent where TCP does not report them.
fn tcp(samples: &[Sample]) -> Option<String> {
    let [begin, end] = [samples.first()?, samples.last()?].map(|of| of.tcp_info.as_ref());
    let (begin, end) = (begin?, end?);
    let retransmits = end.total_retrans?.checked_sub(begin.total_retrans?)?;
    let window = u64::from(end.snd_cwnd_segments?) * u64::from(end.snd_mss_bytes?);
    let window = window as f64 / KIB;
    Some(format!("  retr {retransmits:>4}  cwnd {window:.0} KiB"))
}

pub struct Seconds {
    conditions: Conditions,
    /// The samples that the sender and the receiver have reported so far.
    ends: [Reported; 2],
    told: u64,
}

impl Seconds {
    /// The view of a run with these conditions.
    pub fn of(conditions: &Conditions) -> Seconds {
        Seconds {
            conditions: conditions.clone(),
            ends: Default::default(),
            told: 0,
        }
    }

    /// Takes an event; returns a line for each part once both endpoints have reported one more
    /// second.
    pub fn line(&mut self, event: &Event) -> Option<String> {
        let Event::Progress { role, sample, .. } = event else {
            return None;
        };
        self.ends[*role as usize].add(Sample::clone(sample));
        // A second in which an end has no sample has no line.
        while let [Some(_), Some(_)] = self.ends.each_ref().map(|end| end.begin(self.told + 1)) {
            let lines = self.lines();
            self.told += 1;
            for end in &mut self.ends {
                let begin = end.begin(self.told).unwrap_or_default();
                end.samples.drain(..begin);
            }
            if lines.is_some() {
                return lines;
            }
        }
        None
    }

    /// What the endpoints of each part did in the next second.
    fn lines(&self) -> Option<String> {
        let record = |role: Role| {
            let second = self.ends[role as usize].second(self.told)?;
            EndpointRecord::of_readings(role, second.to_vec())
        };
        let ends = [record(Role::Sender)?, record(Role::Receiver)?];
        let view = PlaceFacts::default().view(ends.each_ref(), &self.conditions, None);
        let parts = parts(&view);
        let line = |part: &PartRun| {
            let rate = |end: &EndpointRecord| {
                let (counts, seconds) = (&end.counts.measured, end.window_seconds());
                rate_of(Some(&part.conditions), counts, seconds)
            };
            let (name, tcp) = match parts.len() {
                1 => (String::new(), tcp(&part.sender.samples)),
                _ => (format!("{:<13}", part.conditions.phrase()), None),
            };
            let (from, to) = (rate(&part.sender), rate(&part.receiver));
            let (second, tcp) = (self.told + 1, tcp.unwrap_or_default());
            format!("{second:5} s  {name}sender {from:>13}  receiver {to:>13}{tcp}")
        };
        Some(parts.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use bitcost_testkit::assert_says;

    use bitcost_model::conditions::{Direction, Workload};
    use bitcost_model::record::PartSample;

    use super::*;

    #[test]
    fn each_part_has_its_line_and_names_its_ends_by_what_they_play() {
        let rr = Conditions::of(Workload::TcpRr);
        let run = Conditions {
            direction: Direction::Both,
            background: vec![rr],
            ..Conditions::default()
        };
        let mut view = Seconds::of(&run);
        let told = |role, at_ms, bytes: [u64; 2], messages| {
            let Event::Progress { mut sample, .. } = told(role, at_ms, bytes[0]) else {
                unreachable!()
            };
            sample.background = vec![PartSample::default(); 2];
            (
                sample.background[0].counts.bytes,
                sample.background[1].counts.messages,
            ) = (bytes[1], messages);
            Event::Progress {
                run: 0,
                role,
                sample,
            }
        };
        for role in [Role::Sender, Role::Receiver] {
            assert_eq!(view.line(&told(role, 0, [0, 0], 0)), None);
        }
        assert_eq!(
            view.line(&told(Role::Sender, 1000, [125_000_000, 25_000_000], 7)),
            None
        );
        let lines = view
            .line(&told(Role::Receiver, 1000, [62_500_000, 37_500_000], 7))
            .expect("three lines");
        let lines: Vec<&str> = lines.lines().collect();
        let expected = [
            "    1 s  → tcp_stream sender   1.00 Gbit/s  receiver    500 Mbit/s",
            "    1 s  ← tcp_stream sender    300 Mbit/s  receiver    200 Mbit/s",
            "    1 s  → tcp_rr     sender        7 tr/s  receiver        7 tr/s",
        ];
        assert_eq!(lines, expected);
    }

    fn told(role: Role, at_ms: u64, bytes: u64) -> Event {
        let mut sample = Sample {
            at_ns: at_ms * 1_000_000,
            ..Sample::default()
        };
        sample.counts.bytes = bytes;
        Event::Progress {
            run: 0,
            role,
            sample: Box::new(sample),
        }
    }

    #[test]
    fn a_second_is_told_when_both_ends_have_told_it() {
        let mut view = Seconds::of(&Conditions::default());
        assert_eq!(view.line(&told(Role::Sender, 0, 0)), None);
        assert_eq!(view.line(&told(Role::Sender, 1000, 125_000_000)), None);
        assert_eq!(view.line(&told(Role::Receiver, 7000, 0)), None);
        let line = view
            .line(&told(Role::Receiver, 8000, 62_500_000))
            .expect("a line");
        assert_says(&line, &["1.00 Gbit/s", "500 Mbit/s"]);
    }

    #[test]
    fn a_second_without_a_sample_does_not_end_the_lines() {
        let mut view = Seconds::of(&Conditions::default());
        for at_ms in [0, 1000, 2000, 3000] {
            assert_eq!(view.line(&told(Role::Sender, at_ms, 0)), None);
        }
        let [begin, late, next] =
            [0, 2000, 3000].map(|at_ms| view.line(&told(Role::Receiver, at_ms, 0)));
        assert_eq!(begin, None);
        assert_says(&late.expect("a line"), &["1 s"]);
        assert_says(&next.expect("a line"), &["3 s"]);
    }
}
