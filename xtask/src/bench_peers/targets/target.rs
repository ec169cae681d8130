//! A target: a bound for a figure, and the verdict on it.

use bitcost_stats::Interval;

use crate::bench_peers::regime::{REGIMES, Regime};
use crate::bench_peers::results::Compared;

/// A bound for a figure.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

/// One target.
pub struct Target {
    /// The name of the figure, for people.
    pub says: &'static str,
    /// The bound for the figure.
    pub wanted: Wanted,
    /// The figure in each case that has it, with the name of the case.
    pub figures: fn(&[Compared]) -> Vec<(String, Interval)>,
}

/// The verdict on a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The value keeps the bound.
    Met,
    /// The value does not keep the bound, but its interval reaches to the bound.
    CannotTell,
    /// Neither the value nor any other value of its interval keeps the bound.
    Missed,
}

/// One target in one case.
pub struct Finding {
    /// The target.
    pub target: &'static Target,
    /// The case.
    pub case: String,
    /// The figure.
    pub found: Interval,
    /// The verdict.
    pub verdict: Verdict,
}

impl Wanted {
    /// The bound, for people.
    pub fn says(self) -> String {
        match self {
            Wanted::AtLeast(bound) => format!("at least {bound}"),
            Wanted::AtMost(bound) => format!("at most {bound}"),
        }
    }

    pub(super) fn judge(self, found: Interval) -> Verdict {
        let (kept, reached) = match self {
            Wanted::AtLeast(bound) => (
                found.value >= bound,
                found.high.is_some_and(|high| high >= bound),
            ),
            Wanted::AtMost(bound) => (
                found.value <= bound,
                found.low.is_some_and(|low| low <= bound),
            ),
        };
        match (kept, reached) {
            (true, _) => Verdict::Met,
            (false, true) => Verdict::CannotTell,
            (false, false) => Verdict::Missed,
        }
    }
}

impl Verdict {
    /// The verdict, for people.
    pub fn says(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::CannotTell => "cannot tell",
            Verdict::Missed => "missed",
        }
    }
}

/// The figure of each case that has it, in each regime that has it.
pub(super) fn each(
    all: &[Compared],
    figure: impl Fn(&Compared, Regime) -> Option<Interval>,
) -> Vec<(String, Interval)> {
    let of = |compared| {
        let named = |regime: Regime| {
            let place = format!("{}{}", place(compared), regime.says());
            Some((place, figure(compared, regime)?))
        };
        REGIMES.into_iter().filter_map(named).collect::<Vec<_>>()
    };
    all.iter().flat_map(of).collect()
}

/// The case, with its setup if that is not the usual one.
pub(super) fn place(compared: &Compared) -> String {
    let Compared { setup, case, .. } = compared;
    let cpu = if setup.one_cpu { ", one CPU" } else { "" };
    let offloads = if setup.offloads_off {
        ", offloads off"
    } else {
        ""
    };
    format!("{}{cpu}{offloads}", case.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(value: f64, low: f64, high: f64) -> Interval {
        Interval {
            value,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn an_interval_that_reaches_the_bound_cannot_tell() {
        let least = Wanted::AtLeast(1.0);
        assert_eq!(least.judge(found(1.0, 0.9, 1.1)), Verdict::Met);
        assert_eq!(least.judge(found(0.99, 0.9, 1.0)), Verdict::CannotTell);
        assert_eq!(least.judge(found(0.9, 0.8, 0.99)), Verdict::Missed);
        let most = Wanted::AtMost(1.01);
        assert_eq!(most.judge(found(1.0, 0.9, 1.1)), Verdict::Met);
        assert_eq!(most.judge(found(1.02, 1.0, 1.1)), Verdict::CannotTell);
        assert_eq!(most.judge(found(1.1, 1.05, 1.2)), Verdict::Missed);
        assert_eq!(most.judge(Interval::alone(1.1)), Verdict::Missed);
    }
}
