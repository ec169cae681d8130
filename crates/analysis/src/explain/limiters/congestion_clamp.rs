//! The congestion window, which is full and does not grow: something holds it at one value.

use super::evidence::{candidate, number, share};
use crate::explain::limiter::Bound::{AtLeast, AtMost};
use crate::explain::limiter::{Candidate, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// The largest window ÷ the smallest, up to which it stands still.
const STANDS: f64 = 1.05;

/// From this share of samples that find it full, the kernel would let it grow.
const FILLED: f64 = 0.25;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "congestion_window_clamp",
    title: "congestion window (held at one value)",
    remedy: "find what holds it: `cwnd` with `lock` in `ip route get ADDRESS` (then `ip tcp_metrics flush`), or a BPF program; more flows have a window each",
    questions: &[Question {
        step: Step::Clamp,
        about: "",
        evidence: "congestion window the same in all samples within 5 %, and full in 25 % of them; reno or cubic, and as many round trips as it has segments, or the kernel's metrics of the peer (`ip tcp_metrics`) have this window",
        rule: |signals| clamped(signals).into_iter().collect(),
    }],
};

fn clamped(signals: &Signals) -> Option<Candidate> {
    let tcp = &signals.tcp;
    tcp.grows_when_full.filter(|grows| *grows)?;
    let evidence = vec![
        number(
            "congestion window, the largest ÷ the smallest",
            tcp.cwnd_spread?,
            "",
            AtMost(STANDS),
        ),
        share(
            "samples that find the congestion window full",
            tcp.cwnd_filled?,
            AtLeast(FILLED),
        ),
    ];
    let detail = format!("{:.0} segments", tcp.cwnd_segments?);
    Some(candidate(ROW.limiter(), detail, evidence))
}
