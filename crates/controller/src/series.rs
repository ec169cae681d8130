//! Blocks that begin at an interval.

use std::time::Duration;

use bitcost_model::plan::Plan;

/// When the blocks of a plan with an interval begin, on the transport's clock.
pub struct Series {
    interval: Duration,
    first: Duration,
}

impl Series {
    /// The series of a plan whose first block begins now; absent where the plan has no interval.
    pub fn new(plan: &Plan, now: Duration) -> Option<Series> {
        let interval = plan.interval().filter(|interval| !interval.is_zero())?;
        Some(Series {
            interval,
            first: now,
        })
    }

    /// The next time at which a block may begin. Times that have passed are left out.
    pub fn due(&self, now: Duration) -> Duration {
        let since = now.saturating_sub(self.first).as_nanos();
        let left = self.interval.as_nanos() - since % self.interval.as_nanos();
        now + Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Conditions;
    use bitcost_model::plan::Lengths;

    use super::*;

    #[test]
    fn times_that_have_passed_are_left_out() {
        let plan = Plan {
            lengths: Some(Lengths {
                interval_ms: Some(2000),
                ..Lengths::default()
            }),
            ..Plan::of_one(Conditions::default())
        };
        let at = Duration::from_millis;
        let series = Series::new(&plan, at(500)).expect("an interval");
        assert_eq!(series.due(at(1600)), at(2500));
        assert_eq!(series.due(at(2500)), at(4500));
        assert_eq!(series.due(at(7000)), at(8500));
    }
}
