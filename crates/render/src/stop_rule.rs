//! The result of a stop rule, as a sentence.

use bitcost_analysis::metrics::metric;
use bitcost_analysis::summary::{Goal, Missing, Precision};

use crate::number;
use crate::words::{intervals_of_runs, lowered};

/// One sentence: that the rule is met, or where it is not.
pub fn stop_rule_text(precision: &Precision) -> String {
    let (name, requested) = (&precision.metric, precision.requested_pct);
    let metric = metric(name).map_or(name.clone(), |metric| lowered(metric.title));
    let (figure, everywhere) = match precision.goal {
        Goal::Cells => ("median", "in every cell"),
        Goal::Ratios => ("ratios", "for every ratio"),
    };
    let intervals = intervals_of_runs(precision.fewest_runs);
    let goal = format!("{intervals} of the {figure} of {metric} narrower than {requested} %");
    if precision.reached {
        return format!("{goal}: reached {everywhere}");
    }
    if precision.wide.is_empty() {
        return format!("{goal}: not reached (no run has a value)");
    }
    let wide = precision.wide.iter();
    let wide = wide.map(|Missing { name, width_pct }| match width_pct {
        Some(width) => format!("{name}: {} %", number::plain(*width)),
        None => format!("{name}: too few runs"),
    });
    let wide = wide.collect::<Vec<_>>().join("; ");
    format!("{goal}: not reached ({wide})")
}
