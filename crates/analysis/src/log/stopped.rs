//! What a run had measured when the user stopped it, in words. It is in no cell.

use bitcost_model::conditions::Conditions;
use bitcost_model::event::StoppedRun;

use crate::metrics::Edges;

/// `after 3.0 s; until then the sender sent 4441 Mbit/s, …`; absent where an endpoint has no two
/// readings at different times.
pub fn until_stopped_text(conditions: &Conditions, stopped: &StoppedRun) -> Option<String> {
    let (sent, received) = (Edges::of(&stopped.sender)?, Edges::of(&stopped.receiver)?);
    let rates = match conditions.workload.is_transactional() {
        true => format!(
            "the client made {:.0} transactions/s",
            sent.per_second(|counts| counts.messages)?
        ),
        false => format!(
            "the sender sent {:.0} Mbit/s, the receiver took {:.0} Mbit/s",
            sent.per_second(|counts| counts.bytes)? * 8e-6,
            received.per_second(|counts| counts.bytes)? * 8e-6
        ),
    };
    let retransmits = sent.tcp(|info| info.total_retrans);
    let retransmits = retransmits.map_or_else(String::new, |count| {
        format!(", {count} retransmitted segments")
    });
    Some(format!(
        "after {:.1} s of its window; until then {rates}{retransmits}",
        received.seconds
    ))
}

#[cfg(test)]
mod tests {
    use bitcost_model::record::{Counts, Sample};

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
