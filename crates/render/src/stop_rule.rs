//! The result of a stop rule, as a sentence and as JSON.

use bitcost_analysis::summary::Precision;
use serde_json::{Value, json};

use crate::number;

/// One sentence: that the rule is met, or where it is not.
pub fn stop_rule_text(precision: &Precision) -> String {
    let asked = format!(
        "95 % interval of the median of {} narrower than {} %",
        precision.metric, precision.asked_pct
    );
    if precision.is_reached() {
        return format!("{asked}: reached in every cell");
    }
    let wide = precision.wide.iter().map(|(name, width)| match width {
        Some(width) => format!("{name}: {} %", number::plain(*width)),
        None => format!("{name}: too few runs"),
    });
    format!(
        "{asked}: not reached ({})",
        wide.collect::<Vec<_>>().join("; ")
    )
}

pub(crate) fn stop_rule_json(precision: &Precision) -> Value {
    let wide = precision.wide.iter().map(|(name, width)| match width {
        Some(width) => json!({ "cell": name, "width_pct": width }),
        None => json!({ "cell": name }),
    });
    json!({
        "metric": precision.metric,
        "asked_pct": precision.asked_pct,
        "reached": precision.is_reached(),
        "wide": wide.collect::<Vec<_>>(),
    })
}
