//! Times within a run at which nothing arrived.

use super::RunView;
use super::edges::Edges;

/// The least time without data that is told, in seconds. A connection that lost a segment may wait for less.
const LEAST_S: f64 = 1.0;

/// The least time without data that is told, in mean times between two calls that received some.
const LEAST_CALLS: f64 = 10.0;

/// The most times that are told one by one.
const MOST: usize = 4;

/// `no data from 4.5 to 13.6 s`: when the receiver got nothing, in seconds from the start of the window; absent where it
/// always got some.
pub fn outages(run: &RunView) -> Option<String> {
    let samples = &run.receiver.samples;
    let whole = Edges::of(samples)?;
    let calls = whole.counted(|counts| counts.calls)?;
    let least = LEAST_S.max(LEAST_CALLS * whole.seconds / calls.max(1.0));
    let after = |at_ns: u64| (at_ns - whole.first.at_ns) as f64 / 1e9;
    let mut quiet: Vec<[f64; 2]> = Vec::new();
    for step in Edges::steps(samples) {
        if step.counted(|counts| counts.bytes + counts.messages) != Some(0.0) {
            continue;
        }
        let [begin, end] = [step.first, step.last].map(|sample| after(sample.at_ns));
        match quiet.last_mut() {
            Some(last) if last[1] == begin => last[1] = end,
            _ => quiet.push([begin, end]),
        }
    }
    quiet.retain(|[begin, end]| end - begin >= least);
    let word = |[begin, end]: &[f64; 2]| match *end < after(whole.last.at_ns) {
        true => format!("from {begin:.1} to {end:.1} s"),
        false => format!("from {begin:.1} s on"),
    };
    let mut words: Vec<String> = quiet.iter().take(MOST).map(word).collect();
    let others = quiet.len().saturating_sub(MOST);
    words.extend((others > 0).then(|| format!("{others} more times")));
    (!words.is_empty()).then(|| format!("no data {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Conditions;
    use bitcost_model::record::{Counts, EndpointRecord, Sample};

    use super::*;

    /// What is told of a receiver that got 1000 bytes by so many calls in each of these tenths of a second.
    fn told(tenths: &[bool], calls: u64) -> Option<String> {
        let mut bytes = 0;
        let readings = tenths.iter().zip(1..).map(|(came, tenth)| {
            bytes += 1000 * u64::from(*came);
            (tenth, bytes)
        });
        let samples = [(0, 0)]
            .into_iter()
            .chain(readings)
            .map(|(tenth, bytes)| Sample {
                at_ns: 5_000_000_000 + tenth * 100_000_000,
                counts: Counts {
                    bytes,
                    calls: bytes / 1000 * calls,
                    ..Counts::default()
                },
                ..Sample::default()
            });
        let receiver = EndpointRecord {
            samples: samples.collect(),
            ..EndpointRecord::default()
        };
        outages(&RunView {
            sender: &EndpointRecord::default(),
            receiver: &receiver,
            conditions: &Conditions::default(),
            shared_cpus: false,
            napi_threaded: false,
            shaped_bps: None,
            interrupted: None,
        })
    }

    #[test]
    fn times_without_data_are_told_with_begin_and_end() {
        let (came, quiet) = (vec![true; 20], |tenths| vec![false; tenths]);
        assert_eq!(told(&came, 9), None);
        assert_eq!(told(&[&came[..], &quiet(9), &came].concat(), 9), None);
        let twice = [&came[..], &quiet(12), &came, &quiet(30)].concat();
        assert_eq!(
            told(&twice, 9).as_deref(),
            Some("no data from 2.0 to 3.2 s, from 5.2 s on")
        );
    }

    #[test]
    fn pauses_between_rare_messages_are_no_outage() {
        let rare: Vec<bool> = (0..200).map(|tenth| tenth % 20 == 0).collect();
        assert_eq!(told(&rare, 1), None);
        assert!(told(&rare, 100).is_some());
    }
}
