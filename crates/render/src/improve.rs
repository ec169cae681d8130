//! A ladder of improvements as text, Markdown and JSON: each step with what limited it, what was changed, and what that
//! gave.

use bitcost_analysis::experiment::{End, Kept, Ladder, Rung};
use bitcost_analysis::explain::{Decision, NotTried, Tried};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::statistics::Interval;
use bitcost_model::search::Goal;
use bitcost_model::units::{DIGITS, decimals};
use serde_json::{Value, json};

use crate::block::Block;
use crate::lines::Lines;
use crate::number;

/// A cost or a latency that rises by more than this factor, with an interval that excludes no change, is a trap.
const TRAP: f64 = 1.03;

/// Rates from this on are shown in the next larger unit.
const THOUSAND: f64 = 1000.0;

/// The rate's unit and its divisor, by the largest rate.
pub(crate) fn unit(ladder: &Ladder) -> (&'static str, f64) {
    let rates = ladder.rungs.iter().filter_map(|rung| rung.rate);
    let most = rates.map(|rate| rate.value).fold(0.0, f64::max);
    match ladder.rate_unit() {
        "Mbit/s" if most >= THOUSAND => ("Gbit/s", THOUSAND),
        _ if ladder.rate_metric == "transactions_per_second" => ("transactions/s", 1.0),
        unit => (unit, 1.0),
    }
}

pub(crate) fn rate(rung: &Rung, divisor: f64) -> Option<Interval> {
    rung.rate.map(|rate| rate.map(|value| value / divisor))
}

/// What limits a step, and whether that is proved.
pub(crate) fn limited_by(rung: &Rung) -> String {
    match (&rung.limiter, rung.is_proved) {
        (None, _) => "not looked for".to_owned(),
        (Some(limiter), is_proved) if is_proved || limiter.is_unknown() => limiter.to_string(),
        (Some(limiter), _) => format!("{limiter} (not proved)"),
    }
}

/// The change that led to a step.
pub(crate) fn change(rung: &Rung) -> &str {
    let label = rung.change.as_ref().map(|kept| kept.tried.label.as_str());
    label.unwrap_or("-")
}

/// The table: a row for each step.
pub(crate) fn ladder_lines(ladder: &Ladder) -> Lines {
    let (unit, divisor) = unit(ladder);
    let row = |(step, rung): (usize, &Rung)| {
        let rate = rate(rung, divisor).map(|rate| rate.with_places(decimals(rate.value, DIGITS)));
        let none = || "-".to_owned();
        vec![
            step.to_string(),
            limited_by(rung),
            change(rung).to_owned(),
            rate.unwrap_or_else(none),
            rung.cost.map_or_else(none, number::plain),
        ]
    };
    let header = ["step", "limited by", "change", unit, ladder.cost_unit()];
    Lines::new(header, ladder.rungs.iter().enumerate().map(row))
}

/// The answer: what all changes together gave, and what limits now.
pub(crate) fn ladder_sentences(ladder: &Ladder) -> Vec<String> {
    let mut said = vec![gained(ladder)];
    let last = ladder.rungs.last();
    if let Some((limiter, rung)) = last.and_then(|rung| Some((rung.limiter.as_ref()?, rung)))
        && ladder.goal == Goal::Rate
    {
        let remedy = rung
            .remedy
            .as_deref()
            .filter(|_| ladder.end == End::Complete);
        let remedy = remedy.map_or(String::new(), |words| format!(" Known remedies: {words}."));
        if !limiter.is_unknown() {
            said.push(format!("Limited now by: {limiter}.{remedy}"));
        }
    }
    said.extend(of_quota(ladder));
    said.push(
        match ladder.end {
            End::Complete => "No other change that was tried gains 3 % or more.",
            End::Undecided => {
                "The runs do not show whether another change gains 3 %; use a longer --budget."
            }
            End::Early => "The time ran out before every change was tried; use a longer --budget.",
        }
        .to_owned(),
    );
    said
}

/// A quota takes time that no setting of a test returns, whatever makes the work cheaper.
fn of_quota(ladder: &Ladder) -> Option<String> {
    let mut limiters = ladder.rungs.iter().filter_map(|rung| rung.limiter.as_ref());
    let quota = limiters.find(|limiter| limiter.name() == "cpu_quota")?;
    let cheaper = match ladder.kept().next() {
        Some(_) => " What was kept needs less of it.",
        None => "",
    };
    Some(format!(
        "No setting that can be tried from here raises the {quota}: raise cpu.max of its control group.{cheaper}"
    ))
}

fn gained(ladder: &Ladder) -> String {
    let kept = ladder.kept().count();
    if kept == 0 {
        return match (ladder.goal, ladder.end) {
            (_, End::Early | End::Undecided) => {
                "No change has been shown to gain 3 % or more yet.".to_owned()
            }
            (Goal::Rate, _) => "No change that was tried gains 3 % or more.".to_owned(),
            (Goal::Cost, _) => "No change that was tried saves 3 % or more.".to_owned(),
        };
    }
    let changes = match kept {
        1 => "One change".to_owned(),
        count => format!("{count} changes"),
    };
    let (first, last) = (ladder.rungs.first(), ladder.rungs.last());
    let ends = first.zip(last);
    let cost = ends.and_then(|(first, last)| Some((first.cost?, last.cost?)));
    let (unit, divisor) = unit(ladder);
    let rates = ends.and_then(|(first, last)| Some((rate(first, divisor)?, rate(last, divisor)?)));
    match (ladder.goal, rates, cost) {
        (Goal::Rate, Some((before, after)), _) => {
            let number = |rate: Interval| number::plain(rate.value);
            let (low, high) = (number(before), number(after));
            format!("{changes}: from {low} to {high} {unit}.")
        }
        (Goal::Cost, _, Some((before, after))) => {
            let (before, after) = (number::plain(before), number::plain(after));
            format!(
                "{changes}: from {before} to {after} {}.",
                ladder.cost_unit()
            )
        }
        _ => format!("{changes} kept."),
    }
}

/// The lines below the table.
pub(crate) fn ladder_paragraphs(ladder: &Ladder) -> Vec<Block> {
    let mut said: Vec<(&str, String)> = Vec::new();
    said.extend(
        ladder
            .kept()
            .filter_map(trap)
            .map(|words| ("trap: ", words)),
    );
    let list = |is_open: bool| {
        let of = ladder.without.iter();
        let of = of.filter(|one| (one.limits == Decision::Open) == is_open);
        of.map(|one| tried(ladder, one))
            .collect::<Vec<_>>()
            .join(", ")
    };
    for (mark, is_open) in [("tried and not kept: ", false), ("not decided: ", true)] {
        let words = list(is_open);
        if !words.is_empty() {
            said.push((mark, words));
        }
    }
    said.extend(
        not_tried(&ladder.untried)
            .into_iter()
            .map(|words| ("not tried: ", words)),
    );
    let keep: Vec<&str> = ladder.kept().map(|kept| kept.keep.as_str()).collect();
    if !keep.is_empty() {
        said.push((
            "to keep it: ",
            format!("{} (now restored)", keep.join("; ")),
        ));
    }
    said.extend(
        ladder
            .caveats
            .iter()
            .map(|words| ("caveat: ", words.clone())),
    );
    let block = |(mark, words)| Block::words(format!("{mark}{words}"));
    said.into_iter().map(block).collect()
}

/// Changes that were not tried, those with one reason and no command together.
fn not_tried(all: &[NotTried]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut said = Vec::new();
    for one in all {
        if let Some(command) = &one.command {
            said.push(format!("{}: {}; as root: {command}", one.label, one.reason));
            continue;
        }
        match reasons.iter_mut().find(|(reason, _)| *reason == one.reason) {
            Some((_, names)) => names.push(&one.label),
            None => reasons.push((&one.reason, vec![&one.label])),
        }
    }
    let together = reasons.into_iter();
    said.extend(together.map(|(reason, names)| format!("{}: {reason}", names.join(", "))));
    said
}

/// `+4.1 % [-1.0, 9.2]`.
fn gain(ratio: &Interval) -> String {
    let pct = |ratio: f64| 100.0 * (ratio - 1.0);
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => {
            format!(
                "{:+.0} % [{:+.0}, {:+.0}]",
                pct(ratio.value),
                pct(low),
                pct(high)
            )
        }
        _ => format!("{:+.0} %", pct(ratio.value)),
    }
}

fn tried(ladder: &Ladder, one: &Tried) -> String {
    match ladder.gain(one) {
        Some(ratio) => format!("{} ({})", one.label, gain(&ratio)),
        None => format!("{} (slower)", one.label),
    }
}

/// What a change costs that raises the throughput: CPU time, or latency of the background transactions.
fn trap(kept: &Kept) -> Option<String> {
    let is_more = |of: &&Interval| of.value > TRAP && of.low.is_some_and(|low| low > 1.0);
    let Tried {
        label,
        rate,
        cost,
        background,
        ..
    } = &kept.tried;
    let costs = [
        ("the CPU time for it", cost),
        ("the latency of the background transactions", background),
    ];
    let costs = costs.into_iter().filter_map(|(what, of)| {
        let more = of.as_ref().filter(is_more)?;
        Some(format!("{what} by {}", gain(more)))
    });
    let costs: Vec<String> = costs.collect();
    let rate = gain(rate);
    (!costs.is_empty()).then(|| {
        format!(
            "{label} raises the rate by {rate} and {}",
            costs.join(" and ")
        )
    })
}

/// `bitcost improve tcp`.
pub(crate) fn ladder_title(execution: &Findings) -> String {
    let title = &execution.summary.study.title;
    title.replacen("bitcost test", "bitcost improve", 1)
}

/// The ladder as JSON, as the log has it, with the trap of each change.
pub(crate) fn ladder_json(ladder: &Ladder) -> Value {
    let mut document = json!(ladder);
    for (step, rung) in ladder.rungs.iter().enumerate() {
        if let Some(kept) = &rung.change {
            document["steps"][step]["change"]["trap"] = json!(trap(kept));
        }
    }
    document
}
