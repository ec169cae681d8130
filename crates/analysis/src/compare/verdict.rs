//! The verdict on a change: better, worse, same, or none of these.

use bitcost_stats::Interval;
use serde::Serialize;

use crate::metrics::Better;

bitcost_model::words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// The change reaches the threshold towards the better side, and its interval does not
        /// contain 0.
        Better = "better",
        /// The change reaches the threshold towards the worse side, and its interval does not
        /// contain 0.
        Worse = "worse",
        /// The change stays below the threshold, and its interval stays below twice the threshold.
        Same = "same",
        /// The change reaches the threshold, and the metric has no better side.
        Changed = "changed",
        /// The old side has values, and the new one has none.
        Missing = "missing",
        /// The new side has values, and the old one has none.
        New = "new",
        CannotTell = "cannot tell",
    }
}

impl Verdict {
    pub fn is_change(self) -> bool {
        matches!(self, Verdict::Better | Verdict::Worse | Verdict::Changed)
    }

    /// The verdict on a change that is 0 where nothing changed; the threshold has the change's
    /// unit.
    pub fn of(change: &Interval, better: Better, threshold: f64) -> Verdict {
        let (Some(low), Some(high)) = (change.low, change.high) else {
            return Verdict::CannotTell;
        };
        let least = 2.0 * threshold;
        // An interval of no width at 0 is the same at any threshold.
        let is_same = (low > -least && high < least) || (low == 0.0 && high == 0.0);
        let reaches = change.value.abs() >= threshold && change.value != 0.0;
        match (better, low > 0.0, high < 0.0) {
            _ if !reaches && is_same => Verdict::Same,
            _ if !reaches => Verdict::CannotTell,
            (Better::Neither, true, _) | (Better::Neither, _, true) => Verdict::Changed,
            (Better::Higher, true, _) | (Better::Lower, _, true) => Verdict::Better,
            (Better::Higher, _, true) | (Better::Lower, true, _) => Verdict::Worse,
            _ => Verdict::CannotTell,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_judged_by_its_interval() {
        let of = |value, low, high, better| {
            Verdict::of(
                &Interval {
                    value,
                    low: Some(low),
                    high: Some(high),
                },
                better,
                3.0,
            )
        };
        assert_eq!(of(5.0, 1.0, 9.0, Better::Higher), Verdict::Better);
        assert_eq!(of(5.0, 1.0, 9.0, Better::Lower), Verdict::Worse);
        assert_eq!(of(5.0, 1.0, 9.0, Better::Neither), Verdict::Changed);
        assert_eq!(of(5.0, -1.0, 11.0, Better::Lower), Verdict::CannotTell);
        assert_eq!(of(2.0, -1.0, 5.0, Better::Lower), Verdict::Same);
        assert_eq!(of(2.0, -1.0, 7.0, Better::Lower), Verdict::CannotTell);
        assert_eq!(of(0.0, 0.0, 0.0, Better::Lower), Verdict::Same);
        let none = Interval::alone(9.0);
        assert_eq!(Verdict::of(&none, Better::Lower, 3.0), Verdict::CannotTell);
    }
}
