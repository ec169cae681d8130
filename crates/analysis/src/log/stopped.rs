//! What a run had measured when the user stopped it, in words. It is in no cell.

use bitcost_model::conditions::Conditions;
use bitcost_model::event::StoppedRun;
use bitcost_model::record::Sample;

/// `after 3.0 s; until then the sender sent 4441 Mbit/s, …`; absent where an endpoint has no two
/// readings at different times.
pub fn until_stopped_text(conditions: &Conditions, stopped: &StoppedRun) -> Option<String> {
    let (sent, received) = (edges(&stopped.sender)?, edges(&stopped.receiver)?);
    let rates = match conditions.workload.is_transactional() {
        true => format!(
            "the client made {:.0} transactions/s",
            sent.per_second(messages)?
        ),
        false => format!(
            "the sender sent {:.0} Mbit/s, the receiver took {:.0} Mbit/s",
            sent.per_second(bytes)? * 8e-6,
            received.per_second(bytes)? * 8e-6
        ),
    };
    let retransmits = sent.retransmits();
    let retransmits = retransmits.map_or_else(String::new, |count| {
        format!(", {count} retransmitted segments")
    });
    Some(format!(
        "after {:.1} s of its window; until then {rates}{retransmits}",
        received.seconds
    ))
}

/// Two readings of an endpoint, and the time between them.
struct Edges<'a> {
    first: &'a Sample,
    last: &'a Sample,
    seconds: f64,
}

fn edges(samples: &[Sample]) -> Option<Edges<'_>> {
    let (first, last) = (samples.first()?, samples.last()?);
    let ns = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)?;
    Some(Edges {
        first,
        last,
        seconds: ns as f64 / 1e9,
    })
}

fn bytes(sample: &Sample) -> u64 {
    sample.counts.bytes
}

fn messages(sample: &Sample) -> u64 {
    sample.counts.messages
}

impl Edges<'_> {
    fn per_second(&self, count: impl Fn(&Sample) -> u64) -> Option<f64> {
        Some(count(self.last).checked_sub(count(self.first))? as f64 / self.seconds)
    }

    fn retransmits(&self) -> Option<u64> {
        let of = |sample: &Sample| sample.tcp_info.as_ref()?.total_retrans;
        Some(u64::from(of(self.last)?.checked_sub(of(self.first)?)?))
    }
}

#[cfg(test)]
mod tests {
    use bitcost_model::record::Counts;

    use super::*;

    fn reading(at_ms: u64, bytes: u64) -> Sample {
        Sample {
            at_ns: at_ms * 1_000_000,
            counts: Counts {
                bytes,
                ..Counts::default()
            },
            ..Sample::default()
        }
    }

    #[test]
    fn a_stopped_run_says_what_it_carried_until_then() {
        let conditions = Conditions::default();
        let stopped = StoppedRun {
            sender: vec![reading(100, 0), reading(1100, 125_000_000)],
            receiver: vec![reading(500, 0), reading(1500, 62_500_000)],
        };
        assert_eq!(
            until_stopped_text(&conditions, &stopped).as_deref(),
            Some(
                "after 1.0 s of its window; until then the sender sent 1000 Mbit/s, the receiver \
                 took 500 Mbit/s"
            )
        );
        let short = StoppedRun {
            receiver: vec![reading(500, 0)],
            ..stopped
        };
        assert_eq!(until_stopped_text(&conditions, &short), None);
    }
}
