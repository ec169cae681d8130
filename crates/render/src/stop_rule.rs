//! The result of a stop rule, as a sentence and as JSON.

use bitcost_analysis::summary::{Goal, Missing, Precision};
use bitcost_model::units::{counted, show_duration};
use serde_json::{Value, json};

use crate::number;

/// One sentence: that the rule is met, or where it is not.
pub fn stop_rule_text(precision: &Precision) -> String {
    let (metric, requested) = (&precision.metric, precision.requested_pct);
    let (figure, everywhere) = match precision.goal {
        Goal::Cells => ("median", "in every cell"),
        Goal::Ratios => ("ratios", "for every ratio"),
    };
    let goal = format!("95 % interval of the {figure} of {metric} narrower than {requested} %");
    let blocks = counted(precision.blocks as usize, "block");
    let budget = precision.budget.filter(|_| precision.is_ended);
    if precision.is_reached() {
        let made = budget.map_or_else(String::new, |_| format!(" after {blocks}"));
        return format!("{goal}: reached {everywhere}{made}");
    }
    let missing = precision.missing.iter();
    let missing = missing.map(|Missing { name, width_pct }| match width_pct {
        Some(width) => format!("{name}: {} %", number::plain(*width)),
        None => format!("{name}: too few runs"),
    });
    let missing = missing.collect::<Vec<_>>().join("; ");
    let spent = budget.map_or_else(String::new, |budget| {
        format!("budget of {} spent after {blocks}; ", show_duration(budget))
    });
    format!("{spent}{goal}: not reached ({missing})")
}

/// `metric`, `requested_pct`, `reached`, and `wide`: what is missing, each with its `width_pct`. With a
/// budget also `goal` (`cells`, `ratios`) and `budget_s`.
pub(crate) fn stop_rule_json(precision: &Precision) -> Value {
    let (goal, name) = match precision.goal {
        Goal::Cells => ("cells", "cell"),
        Goal::Ratios => ("ratios", "ratio"),
    };
    let missing = precision.missing.iter();
    let wide = missing.map(|of| json!({ name: of.name, "width_pct": of.width_pct }));
    json!({
        "reached": precision.is_reached(),
        "wide": wide.collect::<Vec<_>>(),
        "metric": precision.metric,
        "requested_pct": precision.requested_pct,
        "goal": precision.budget.map(|_| goal),
        "budget_s": precision.budget.map(|budget| budget.as_secs_f64()),
    })
}
