//! The result of a stop rule, as a sentence and as JSON.

use bitcost_analysis::statistics::Outlook;
use bitcost_analysis::summary::{Goal, Missing, Precision};
use bitcost_model::units::{counted, show_duration};
use serde_json::{Value, json};

use crate::number;

/// One sentence: that the rule is met, or where it is not and what more blocks would do.
pub fn stop_rule_text(precision: &Precision) -> String {
    let goal = goal(precision);
    if precision.is_reached() {
        let everywhere = match precision.goal {
            Goal::Cells => "reached in every cell",
            Goal::Ratios => "reached for every ratio",
            Goal::Statements(_) => "reached",
        };
        return format!("{goal}: {everywhere}{}", made(precision));
    }
    let missing: Vec<String> = precision
        .missing
        .iter()
        .map(|missing| missing_text(missing, precision))
        .collect();
    let missing = missing.join("; ");
    match ended(precision) {
        Some(why) => format!("{why}; {goal}: not reached ({missing})"),
        None => format!("{goal}: not reached ({missing})"),
    }
}

fn goal(precision: &Precision) -> String {
    let (metric, asked) = (&precision.metric, precision.requested_pct);
    match precision.goal {
        Goal::Cells => format!("95 % interval of the median of {metric} narrower than {asked} %"),
        Goal::Ratios => {
            format!("95 % interval of the ratios of {metric} narrower than {asked} %")
        }
        Goal::Statements(1) => "the statement passes or fails".to_owned(),
        Goal::Statements(count) => format!("each of {count} statements passes or fails"),
    }
}

/// After how many blocks, where these were not known before.
fn made(precision: &Precision) -> String {
    match precision.budget {
        Some(_) if precision.is_ended => {
            format!(" after {}", counted(precision.blocks as usize, "block"))
        }
        _ => String::new(),
    }
}

/// Why an execution that answers its question ended without the answer.
fn ended(precision: &Precision) -> Option<String> {
    let budget = show_duration(precision.budget.filter(|_| precision.is_ended)?);
    let blocks = counted(precision.blocks as usize, "block");
    let most = precision.most;
    Some(if precision.is_enough() && precision.blocks < most {
        format!(
            "ended after {blocks}, because the {most} that the budget of {budget} allows are unlikely to be enough"
        )
    } else {
        format!("budget of {budget} spent after {blocks}")
    })
}

fn missing_text(missing: &Missing, precision: &Precision) -> String {
    let Missing {
        name,
        width_pct,
        outlook,
    } = missing;
    let found = match (width_pct, precision.goal) {
        (Some(width), _) => format!("{name}: {} %", number::plain(*width)),
        (None, Goal::Statements(_)) => name.clone(),
        (None, _) => format!("{name}: too few runs"),
    };
    match outlook.blocks {
        _ if precision.budget.is_none() => found,
        Some(blocks) => format!("{found}, about {blocks} blocks would be enough"),
        None if *outlook == Outlook::NONE => format!("{found}, which has no value so far"),
        None => format!("{found}, more than 1000 blocks would be needed"),
    }
}

/// `goal` (`cells`, `ratios`, `statements`), `metric` and `requested_pct` but for statements,
/// `reached`, and `wide`: what is missing, each with its `width_pct`. With a budget also
/// `budget_s`, and for each the `blocks_wanted` of at most 1000.
pub(crate) fn stop_rule_json(precision: &Precision) -> Value {
    let (goal, name) = match precision.goal {
        Goal::Cells => ("cells", "cell"),
        Goal::Ratios => ("ratios", "ratio"),
        Goal::Statements(_) => ("statements", "statement"),
    };
    let wide = precision.missing.iter().map(|missing| {
        let blocks = missing
            .outlook
            .blocks
            .filter(|_| precision.budget.is_some());
        json!({ name: missing.name, "width_pct": missing.width_pct, "blocks_wanted": blocks })
    });
    let has_width = name != "statement";
    json!({
        "reached": precision.is_reached(),
        "wide": wide.collect::<Vec<_>>(),
        "metric": has_width.then_some(&precision.metric),
        "requested_pct": has_width.then_some(precision.requested_pct),
        "goal": precision.budget.map(|_| goal),
        "budget_s": precision.budget.map(|budget| budget.as_secs_f64()),
    })
}
