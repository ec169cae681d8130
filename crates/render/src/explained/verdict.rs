//! Verdicts with their evidence, runner-up and remedy.

use crate::words::around;
use bitcost_analysis::explain::{Bound, Candidate, Evidence, Verdict, stop_others};

/// The evidence of a runner-up may be this far on the wrong side of a bound, as a share of it, to
/// be reported.
const NEAR: f64 = -0.5;

/// Evidence, runner-up and remedy of a verdict, several lines.
pub fn verdict_text(verdict: &Verdict) -> String {
    verdicts_text(std::slice::from_ref(verdict))
}

/// The same of verdicts that agree, each counter with its range.
pub(super) fn verdicts_text(verdicts: &[Verdict]) -> String {
    let Some(first) = verdicts.first() else {
        return String::new();
    };
    let others = verdicts
        .iter()
        .filter_map(|verdict| verdict.others.as_ref());
    let others = others.max_by(|a, b| a.pct.total_cmp(&b.pct));
    let mut lines: Vec<String> = others.map(ToString::to_string).into_iter().collect();
    if !first.chosen.detail.is_empty() {
        lines.push(first.chosen.detail.clone());
    }
    for index in 0..first.chosen.evidence.len() {
        let all: Vec<&Evidence> = verdicts
            .iter()
            .filter_map(|verdict| verdict.chosen.evidence.get(index))
            .collect();
        lines.push(format!("evidence: {}", evidence(&all)));
    }
    let next = verdicts
        .iter()
        .filter_map(|verdict| verdict.runner_up.as_ref())
        .max_by(|a, b| a.strength().total_cmp(&b.strength()));
    lines.extend(next.and_then(runner_up));
    let stop = others.map_or_else(String::new, |others| {
        format!("{}; ", stop_others(others, first.limiter()))
    });
    lines.push(format!("remedy: {stop}{}", first.remedy()));
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

/// `, high confidence`; nothing where no limiter is named.
pub(super) fn sure(verdict: &Verdict) -> String {
    if verdict.limiter().is_unknown() {
        String::new()
    } else {
        format!(", {}", verdict.confidence.words())
    }
}

/// The runner-up with its weakest evidence, if it comes near.
fn runner_up(next: &Candidate) -> Option<String> {
    let all = next.evidence.iter();
    let weakest = all.min_by(|a, b| a.margin().total_cmp(&b.margin()))?;
    let words = || format!("runner-up: {}: {}", next.limiter, evidence(&[weakest]));
    (weakest.margin() >= NEAR).then(words)
}

/// `sender on a CPU 98.9 % (threshold: at least 75 %)`: one counter's values in all cells.
fn evidence(all: &[&Evidence]) -> String {
    let first = all[0];
    let unit = around(" ", first.unit, "");
    let side = match first.bound {
        Bound::AtLeast(_) => "at least",
        Bound::AtMost(_) => "at most",
    };
    let bound = |evidence: &Evidence| match evidence.bound {
        Bound::AtLeast(bound) | Bound::AtMost(bound) => bound,
    };
    let range = |values: &mut dyn Iterator<Item = f64>| range(values, first.unit);
    format!(
        "{} {}{unit} (threshold: {side} {}{unit})",
        first.counter,
        range(&mut all.iter().map(|evidence| evidence.value)),
        range(&mut all.iter().map(|evidence| bound(evidence)))
    )
}

/// `98.9`, `97.1 to 98.9`.
fn range(values: &mut dyn Iterator<Item = f64>, unit: &str) -> String {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let number = |value: Option<&f64>| value.map_or(String::new(), |value| number(*value, unit));
    match [values.first(), values.last()].map(number) {
        [least, most] if least == most => least,
        [least, most] => format!("{least} to {most}"),
    }
}

/// A value as people read it; shares in per cent have at most two places.
fn number(value: f64, unit: &str) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size < 0.01 && unit == "%" => "0.00".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        size => format!(
            "{value:.places$}",
            places = (1.0 - size.log10().floor()).min(9.0) as usize
        ),
    }
}
