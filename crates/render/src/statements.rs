//! Statements as lines for people and as JSON for programs.

use bitcost_model::study;
use bitcost_model::units::counted;
use bitcost_study::check::{Along, Figure};
use serde_json::{Value, json};

use crate::json_parts::levels_json;
use crate::number;
use crate::words::around;
use bitcost_analysis::checks::{CheckSummary, ClaimSummary, ENOUGH_RUNS};

/// One line: a mark to which further lines are indented, and the words.
pub(crate) struct Line {
    pub mark: String,
    pub words: String,
}

/// The width of the verdict, in columns.
const VERDICT: usize = "cannot tell".len();

/// The verdict of each statement, and under it each figure.
pub(crate) fn statement_lines(checks: &[CheckSummary]) -> Vec<Line> {
    let of = |check: &CheckSummary| {
        let verdict = format!("{:<VERDICT$}  ", check.verdict.name());
        let claims = check.claims.iter().map(|claim| {
            let mark = format!("{:<VERDICT$}    ", "");
            let told = if check.claims.len() > 1 {
                format!("{}: ", claim.verdict.name())
            } else {
                String::new()
            };
            Line {
                mark,
                words: told + &claim_sentence(claim),
            }
        });
        [Line {
            mark: verdict,
            words: check.statement.clone(),
        }]
        .into_iter()
        .chain(claims)
        .collect::<Vec<_>>()
    };
    checks.iter().flat_map(of).collect()
}

/// `Send service demand, 1024 ÷ 8192 (UDP): 4.65 [3.02, 5.43]; asked 2 to 6`.
pub fn claim_sentence(claim: &ClaimSummary) -> String {
    let title = bitcost_analysis::metrics::metric(&claim.claim.metric)
        .map_or(claim.claim.metric.as_str(), |metric| metric.title);
    let place = around(" (", &study::phrase(&claim.levels), ")");
    let value = match &claim.interval {
        Some(interval) => number::interval(interval),
        None => "no value: a cell of this claim has no result".to_owned(),
    };
    let why = match claim.runs {
        _ if claim.interval.is_none() => String::new(),
        runs if runs < ENOUGH_RUNS => format!(" (too few: {})", counted(runs, "run")),
        _ => String::new(),
    };
    let figure = phrase(&claim.claim.figure);
    format!(
        "{title}{figure}{place}: {value}{why}; expected {}",
        claim.claim.bounds()
    )
}

/// The figure in words, after the metric's title.
fn phrase(figure: &Figure) -> String {
    match figure {
        Figure::Value(of) if of.is_empty() => String::new(),
        Figure::Value(of) => format!(", {}", study::phrase(of)),
        Figure::Ratio(of, to) => format!(", {} ÷ {}", study::phrase(of), study::phrase(to)),
        Figure::Difference(of, to) => format!(", {} − {}", study::phrase(of), study::phrase(to)),
        Figure::OverSingle(of, rate) => {
            let rate = *rate as f64 / 1e9;
            format!(
                ", {} ÷ one message per segment at {rate} Gbit/s",
                study::phrase(of)
            )
        }
        Figure::Spread(along) => format!(", largest ÷ smallest{}", way(along)),
        Figure::Step(along) => format!(", least step{}", way(along)),
        Figure::Saturation(along, of, to) => {
            let (of, to) = (study::phrase(of), study::phrase(to));
            format!(
                ", {} from which it is within 5 % of its largest, {of} ÷ {to}",
                along.factor
            )
        }
    }
}

fn way(along: &Along) -> String {
    let ends = along.levels.first().zip(along.levels.last());
    let ends = ends.map_or(String::new(), |(first, last)| {
        format!(" from {first} to {last}")
    });
    let at = around(", ", &study::phrase(&along.at), "");
    format!("{ends}{at}")
}

/// A list of `statement`, `verdict` (`pass`, `fail`, `cannot_tell`), and `claims`: each with
/// `metric`, `figure`, `levels`, `runs`, `value`, `low`, `high`, `at_least`, `at_most`, `verdict`.
/// Absent values have no key.
pub(crate) fn statements_json(checks: &[CheckSummary]) -> Value {
    let check = |check: &CheckSummary| {
        json!({
            "statement": check.statement,
            "verdict": check.verdict.key(),
            "claims": check.claims.iter().map(claim).collect::<Vec<_>>(),
        })
    };
    checks.iter().map(check).collect()
}

fn claim(told: &ClaimSummary) -> Value {
    let (claim, interval) = (&told.claim, told.interval.as_ref());
    json!({
        "metric": claim.metric,
        "figure": claim.figure.key(),
        "of": phrase(&claim.figure).trim_start_matches(", "),
        "levels": levels_json(&told.levels),
        "runs": told.runs,
        "verdict": told.verdict.key(),
        "value": interval.map(|interval| interval.value),
        "low": interval.and_then(|interval| interval.low),
        "high": interval.and_then(|interval| interval.high),
        "at_least": claim.at_least,
        "at_most": claim.at_most,
    })
}
