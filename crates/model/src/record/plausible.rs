//! Whether the counts of a flow of datagrams can belong to the run alone.

use super::{PhaseCounts, Sequence};

/// The share of the datagrams sent, in per cent, above which datagrams that came too late to be
/// distinguished from duplicates make a run void: they count as lost, and so loss and throughput
/// are wrong by this share.
pub const LATE_PCT: f64 = 1.0;

/// The reason why a flow has no figures; absent where it has. `sent` are the sender's messages of
/// the measured window and of the whole run, `received` are the counts of the receiver, and
/// `sequence` holds the results of its sequence numbers, where messages have room for them.
pub fn implausible(
    sent: [u64; 2],
    received: &PhaseCounts,
    sequence: Option<&Sequence>,
) -> Option<String> {
    let [sent_measured, sent_total] = sent;
    let measured = received.measured.messages;
    if sequence.is_some() && measured > sent_measured {
        return Some(format!(
            "the receiver counted {measured} datagrams of the measured window and the sender sent {sent_measured}: those of another program are among them; repeat the run, on another port"
        ));
    }
    let total = received.total().messages;
    if total > sent_total {
        return Some(format!(
            "the receiver counted {total} datagrams and the sender sent {sent_total}: the path duplicated some, or those of another program are among them; messages of 8 bytes and more have sequence numbers that identify duplicates"
        ));
    }
    let (late, of) = match sequence {
        Some(Sequence {
            measured: Some(measured),
            measured_sent,
            ..
        }) => (measured.late, *measured_sent),
        Some(Sequence { late, .. }) => (*late, sent_total),
        None => return None,
    };
    let late_pct = 100.0 * late as f64 / of.max(1) as f64;
    (late_pct > LATE_PCT).then(|| {
        format!(
            "{late_pct:.1} % of the datagrams came so late that they cannot be distinguished from duplicates and count as lost; over {LATE_PCT} % of them make loss and throughput wrong"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Arrivals, Counts};

    fn received(outside: u64, measured: u64) -> PhaseCounts {
        let counts = |messages| Counts {
            messages,
            ..Counts::default()
        };
        PhaseCounts {
            outside: counts(outside),
            measured: counts(measured),
        }
    }

    fn numbered(late: u64) -> Sequence {
        let measured = Arrivals {
            late,
            reordered: 900,
            ..Arrivals::default()
        };
        Sequence {
            measured_sent: 1000,
            late,
            measured: Some(measured),
            ..Sequence::default()
        }
    }

    #[test]
    fn a_receiver_cannot_take_more_than_was_sent() {
        let reason =
            implausible([1000, 1100], &received(90, 1001), Some(&numbered(0))).expect("void");
        assert!(
            reason.contains("1001 datagrams of the measured window")
                && reason.contains("sent 1000"),
            "{reason}"
        );
        assert_eq!(
            implausible([1000, 1100], &received(100, 1000), Some(&numbered(0))),
            None
        );
        // Without numbers each endpoint divides by its own clock, so the windows differ.
        assert_eq!(implausible([1000, 1100], &received(90, 1010), None), None);
        let reason = implausible([1000, 1100], &received(100, 1001), None).expect("void");
        assert!(reason.contains("1101 datagrams and the sender sent 1100"));
    }

    #[test]
    fn late_numbers_make_a_run_void_and_reordered_ones_do_not() {
        assert_eq!(
            implausible([1000, 1100], &received(0, 990), Some(&numbered(10))),
            None
        );
        let reason =
            implausible([1000, 1100], &received(0, 0), Some(&numbered(1000))).expect("void");
        assert!(reason.starts_with("100.0 % of the datagrams came so late"));
        let of_old_log = Sequence {
            late: 12,
            measured: None,
            ..numbered(0)
        };
        assert!(implausible([1000, 1100], &received(0, 990), Some(&of_old_log)).is_some());
    }
}
