//! The result of the study's own comparison for one metric, as a sentence without its full stop.

use crate::number;
use crate::words::around;
use bitcost_analysis::metrics::{Better, Metric};
use bitcost_analysis::statistics::Interval;
use bitcost_analysis::summary::{ImprovementSummary, Summary};
use bitcost_model::study::Label;

use super::words::{is_plural, lowered, named_levels, varied};

/// The most places that are each named; for more, only the most and the least changed are.
const TOLD: usize = 2;

/// The direction in which a metric changes from one level to the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Rises,
    Falls,
    CannotTell,
}

/// The change at one combination of the other factors' levels.
struct Change {
    way: Way,
    /// The ratio of the new to the old value.
    ratio: f64,
    /// `to ×0.50 (0.48 to 0.52) with queue = 20`.
    words: String,
    /// `queue = 20`; empty if there is no other factor.
    place: String,
}

/// `throughput falls to ×0.50 (0.48 to 0.52) (worse)`, for the levels that [`between`] names;
/// absent where the study compares nothing, or the metric has no better side.
pub(crate) fn change(summary: &Summary, metric: &Metric) -> Option<String> {
    let found = summary
        .improvements
        .iter()
        .filter_map(|improvement| Change::of(summary, improvement, metric));
    let found: Vec<Change> = found.collect();
    if found.is_empty() {
        return None;
    }
    let of = |way: Way| {
        found
            .iter()
            .filter(|change| change.way == way)
            .collect::<Vec<_>>()
    };
    let mut parts = Vec::new();
    let verbs = if is_plural(metric) {
        ["rise", "fall"]
    } else {
        ["rises", "falls"]
    };
    for (way, verb, better) in [
        (Way::Rises, verbs[0], Better::Higher),
        (Way::Falls, verbs[1], Better::Lower),
    ] {
        let changes = of(way);
        if !changes.is_empty() {
            let word = if metric.better == better {
                "better"
            } else {
                "worse"
            };
            parts.push(format!("{verb} {} ({word})", told(changes)));
        }
    }
    let (open, all) = (of(Way::CannotTell), found.len());
    let alone = parts.is_empty();
    let title = lowered(metric.title);
    let said = if alone {
        String::new()
    } else {
        format!("{title} {}", parts.join(" and "))
    };
    let unclear = (!open.is_empty()).then(|| {
        let place = if alone {
            String::new()
        } else {
            format!(" {}", places(&open, all))
        };
        let of_it = if alone {
            format!(" of {title}")
        } else {
            String::new()
        };
        format!("no difference{of_it} is measurable{place}")
    });
    let told: Vec<String> = [(!alone).then_some(said), unclear]
        .into_iter()
        .flatten()
        .collect();
    Some(told.join("; "))
}

/// `from offloading = on to both off`; absent where the study compares nothing.
pub(crate) fn between(summary: &Summary) -> Option<String> {
    let first = summary.improvements.first()?;
    Some(format!(
        "from {} = {} to {}",
        first.factor, first.from, first.to
    ))
}

impl Change {
    fn of(summary: &Summary, improvement: &ImprovementSummary, metric: &Metric) -> Option<Change> {
        let (_, ratio) = improvement
            .figures
            .iter()
            .find(|(known, _)| *known == metric.name)?;
        // An improvement is above 1 where the new side is better: if lower values are better, it is
        // the inverse of the metric's own ratio.
        let Interval { value, low, high } = match metric.better {
            Better::Lower => ratio.map(f64::recip),
            Better::Higher | Better::Neither => *ratio,
        };
        let way = match (low.unwrap_or(value), high.unwrap_or(value)) {
            (low, _) if low > 1.0 => Way::Rises,
            (_, high) if high < 1.0 => Way::Falls,
            _ => Way::CannotTell,
        };
        let levels: Vec<_> = improvement
            .levels
            .iter()
            .filter(|(factor, _)| varied(summary, factor))
            .cloned()
            .collect();
        let place = named_levels(&levels);
        let with = around(" with ", &place, "");
        let words = if value.is_finite() && value > 0.0 {
            let bounds = low
                .zip(high)
                .map(|(low, high)| format!(" ({} to {})", number::plain(low), number::plain(high)));
            format!(
                "to ×{}{}{with}",
                number::plain(value),
                bounds.unwrap_or_default()
            )
        } else {
            let [from, to] = [&improvement.from, &improvement.to]
                .map(|level| at(summary, improvement, level, metric));
            format!("from {} to {} {}", from?, to?, metric.unit)
                .trim_end()
                .to_owned()
                + &with
        };
        Some(Change {
            way,
            ratio: value,
            words,
            place,
        })
    }
}

fn at(
    summary: &Summary,
    improvement: &ImprovementSummary,
    level: &Label,
    metric: &Metric,
) -> Option<String> {
    let mut levels = improvement.levels.clone();
    levels.push((improvement.factor.clone(), level.clone()));
    Some(number::plain(
        summary.cell(&levels)?.figure(metric.name)?.value,
    ))
}

/// Each change; if there are many, their range.
fn told(mut changes: Vec<&Change>) -> String {
    if changes.len() <= TOLD {
        return listed(
            &changes
                .iter()
                .map(|change| change.words.as_str())
                .collect::<Vec<_>>(),
        );
    }
    changes.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
    let (least, most) = (changes[0], changes[changes.len() - 1]);
    format!(
        "to at least {} and at most {}, in {} cases",
        bare(least),
        bare(most),
        changes.len()
    )
}

fn bare(change: &Change) -> &str {
    change.words.strip_prefix("to ").unwrap_or(&change.words)
}

/// The places where no difference is measurable, out of all of them.
fn places(open: &[&Change], all: usize) -> String {
    if open.len() > TOLD {
        return format!("in {} of {all} cases", open.len());
    }
    let places: Vec<&str> = open.iter().map(|change| change.place.as_str()).collect();
    format!("with {}", listed(&places))
}

/// `a`, `a and b`, `a, b and c`; if one of them contains a comma, `a; b; c`.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        many if many.iter().any(|words| words.contains(", ")) => many.join("; "),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
