//! What experiments show, as text, Markdown and for pages: the ladder of `improve` and of a search (`mode = "auto"`), and
//! the proof of a verdict.

use bitcost_analysis::experiment::{End, Kept, Ladder, Rung};
use bitcost_analysis::explain::{Decision, Outcome, Proof, Tried};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::statistics::Interval;
use bitcost_analysis::summary::Summary;
use bitcost_model::harmless;
use bitcost_model::search::{Decision as Decided, Goal};
use bitcost_model::settings::options;
use bitcost_model::shell::shell_word;
use bitcost_model::units::counted;
use indexmap::IndexMap;
use serde::Deserialize;

use crate::block::Block;
use crate::lines::Lines;
use crate::number;

/// A cost or a latency that rises by more than this factor, with an interval that excludes no change, is a trap.
const TRAP: f64 = 1.03;

/// Changes of a sentence: the one that limits, and the next, as its contrast.
const TOLD: usize = 2;

fn rate(ladder: &Ladder, rate: &Interval) -> String {
    match ladder.rate_unit() {
        "Mbit/s" => number::throughput(rate),
        _ => number::known(rate, " transactions/s"),
    }
}

/// What limits a step, and whether that is proved.
fn limited_by(rung: &Rung) -> String {
    match (&rung.limiter, rung.is_proved) {
        (None, _) => "not looked for".to_owned(),
        (Some(limiter), is_proved) if is_proved || limiter.is_unknown() => limiter.to_string(),
        (Some(limiter), _) => format!("{limiter} (not proved)"),
    }
}

/// What a change that was kept is called.
fn label(kept: &Kept) -> &str {
    &kept.tried.label
}

/// The table, with a row for each step, and the lines below it. What limits a step is not looked for in a search.
pub(crate) fn ladder_blocks(ladder: &Ladder) -> Vec<Block> {
    let mut header = vec!["step", "limited by", "change", "rate", ladder.cost_unit()];
    let row = |(step, rung): (usize, &Rung)| {
        let none = || "-".to_owned();
        let rate = rung.rate.map(|of| rate(ladder, &of));
        vec![
            step.to_string(),
            limited_by(rung),
            rung.change.as_ref().map_or("-", label).to_owned(),
            rate.unwrap_or_else(none),
            rung.cost.map_or_else(none, number::plain),
        ]
    };
    let mut rows: Vec<Vec<String>> = ladder.rungs.iter().enumerate().map(row).collect();
    if ladder.cell.is_some() {
        header.remove(1);
        rows.iter_mut().for_each(|row| drop(row.remove(1)));
    }
    let mut blocks = vec![Block::Table(String::new(), Lines::new(header, rows))];
    blocks.extend(notes(ladder));
    blocks
}

/// The answer: what all changes together gave, and what limits now.
pub(crate) fn ladder_answer(ladder: &Ladder) -> String {
    let mut sentences = vec![gained(ladder)];
    let last = ladder.rungs.last().filter(|_| ladder.goal == Goal::Rate);
    let limiter = last.and_then(|rung| rung.limiter.as_ref());
    if let Some(limiter) = limiter.filter(|limiter| !limiter.is_unknown()) {
        sentences.push(format!("Limited now by: {limiter}."));
    }
    let end = match (ladder.end, ladder.kept().next()) {
        (End::Complete, None) => "",
        (End::Complete, Some(_)) => "No other change that was tried gains 3 % or more.",
        (End::Undecided, _) => "The runs do not show whether another change gains 3 %.",
        (End::Early, _) => "The time ran out before every change was tried; use a longer --budget.",
    };
    sentences.push(end.to_owned());
    sentences.join(" ").trim_end().to_owned()
}

fn gained(ladder: &Ladder) -> String {
    let verb = match ladder.goal {
        Goal::Rate => "gain",
        Goal::Cost => "save",
    };
    let changes = match (ladder.cell, ladder.kept().count()) {
        (_, 0) if ladder.end == End::Complete => {
            return format!("No change that was tried {verb}s 3 % or more.");
        }
        (_, 0) => return format!("No change was shown to {verb} 3 % or more."),
        (Some(_), _) => ladder.kept().last().map_or("-", label).to_owned(),
        (None, 1) => "One change".to_owned(),
        (None, kept) => format!("{kept} changes"),
    };
    let figure = |rung: &Rung| match ladder.goal {
        Goal::Rate => Some(rate(ladder, &Interval::alone(rung.rate?.value))),
        Goal::Cost => Some(format!(
            "{} {}",
            number::plain(rung.cost?),
            ladder.cost_unit()
        )),
    };
    let mut figures = ladder.rungs.iter().map(figure);
    let (first, last) = (figures.next().flatten(), figures.next_back().flatten());
    let known = figures.rev().flatten().next();
    match (first, last, known) {
        (Some(before), Some(after), _) => format!("{changes}: from {before} to {after}."),
        (Some(before), None, Some(after)) => {
            format!(
                "{changes} kept: from {before} to {after} before the last, which is not measured."
            )
        }
        _ => format!("{changes} kept."),
    }
}

/// The lines below the table.
fn notes(ladder: &Ladder) -> Vec<Block> {
    let without = ladder.without.iter().map(|one| tried(ladder, one));
    let without: Vec<String> = without.collect();
    let (mark, restored) = match ladder.cell {
        Some(_) => ("calls", ""),
        None => ("to keep it", " (now restored)"),
    };
    let keep: Vec<&str> = ladder.kept().map(|kept| &*kept.keep).collect();
    let keep = (!keep.is_empty()).then(|| (mark, keep.join("; ") + restored));
    let traps = ladder.kept().filter_map(trap).map(|words| ("trap", words));
    let untried = not_tried(ladder).into_iter();
    traps
        .chain([("tried and not kept", without.join(", "))])
        .chain(untried.map(|words| ("not tried", words)))
        .chain(keep)
        .filter(|(_, words)| !words.is_empty())
        .map(|(mark, words)| Block::words(format!("{mark}: {words}")))
        .collect()
}

/// Changes that were not tried, those with one reason together; of a search their number.
fn not_tried(ladder: &Ladder) -> Vec<String> {
    let mut reasons: IndexMap<String, Vec<&str>> = IndexMap::new();
    for one in &ladder.untried {
        let command = one.command.iter();
        let as_root = command.map(|command| format!("; as root: {command}"));
        let why = one.reason.clone() + &as_root.collect::<String>();
        reasons.entry(why).or_default().push(&one.label);
    }
    let lines = reasons.into_iter().map(|(reason, names)| {
        let names = match ladder.cell {
            Some(_) if names.len() > TOLD => counted(names.len(), "combination"),
            _ => names.join(", "),
        };
        format!("{names}: {reason}")
    });
    lines.collect()
}

/// `+4 % [-1, +9]`.
fn gain(ratio: &Interval) -> String {
    number::signed(&ratio.map(|ratio| 100.0 * (ratio - 1.0)), "%", 0)
}

fn tried(ladder: &Ladder, one: &Tried) -> String {
    match ladder.gain(one) {
        Some(ratio) if one.blocks == 1 && ratio.value > 1.0 && one.limits == Decision::Open => {
            let gain = gain(&ratio);
            format!("{} ({gain}, in one run, not confirmed)", one.label)
        }
        Some(ratio) => format!("{} ({})", one.label, gain(&ratio)),
        None if one.cost.is_none() && ladder.goal == Goal::Cost => {
            format!("{} (CPU time not known)", one.label)
        }
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

/// The ladder of `improve`, its answer last, where it stays on the screen.
pub(crate) fn improved(ladder: &Ladder, execution: &Findings) -> Vec<Block> {
    let title = &execution.summary.study.title;
    let title = title.replacen("bitcost test", "bitcost improve", 1);
    let mut blocks = vec![Block::Title(title), Block::Gap];
    blocks.extend(ladder_blocks(ladder));
    blocks.extend([Block::Gap, Block::words(ladder_answer(ladder))]);
    blocks
}

/// What a search found, in a sentence; absent of other decisions.
pub fn search_sentence(decision: &Decided) -> Option<String> {
    let Decided::Changes(ladder) = decision else {
        return None;
    };
    let ladder = Ladder::deserialize(ladder).ok();
    let ladder = ladder.filter(|of| of.cell.is_some())?;
    Some(format!("auto: {}", harmless(&gained(&ladder))))
}

/// The searches of an execution, each with its answer, and the command line of a test that gives the same without it.
pub(crate) fn searches(execution: &Findings) -> Vec<Block> {
    let summary = &execution.summary;
    let mut blocks = Vec::new();
    for ladder in &execution.searches {
        let cell = ladder.cell.and_then(|cell| summary.planned.get(cell));
        let name = cell.filter(|_| summary.planned.len() > 1);
        let name = name.map_or(String::new(), |cell| format!("{}: ", cell.name()));
        let mut words = vec![format!("{name}auto: {}", gained(ladder))];
        let is_test = summary
            .command_line
            .get(1)
            .is_some_and(|verb| verb == "test");
        words.extend((name.is_empty() && is_test).then(|| again(summary, ladder)));
        blocks.extend(ladder_blocks(ladder));
        blocks.extend(words.into_iter().map(Block::words));
    }
    blocks
}

/// The command line of a test with what its search took instead of the search.
fn again(summary: &Summary, ladder: &Ladder) -> String {
    let mut words = summary.command_line.iter().skip(1);
    let mut kept = vec!["without search: bitcost".to_owned()];
    let is_search = |set: &str| {
        ["mode=", "search_for="]
            .iter()
            .any(|of| set.starts_with(of))
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--mode" | "--for" => drop(words.next()),
            "--set" if words.clone().next().is_some_and(|of| is_search(of)) => drop(words.next()),
            word if word.starts_with("--mode=") || word.starts_with("--for=") => {}
            word if word.strip_prefix("--set=").is_some_and(is_search) => {}
            word => kept.push(shell_word(word).into_owned()),
        }
    }
    kept.extend(ladder.kept().map(|kept| options(&kept.settings)));
    kept.join(" ")
}

/// The proof in one sentence: `proved: with 50 % less CPU time for the receiver, throughput falls by 49.8 % [49.0, 50.5];
/// with 50 % less CPU time for the sender by 0.3 % [-0.6, 1.2]`.
pub(crate) fn proof_sentence(proof: &Proof) -> String {
    if proof.limiter().is_none() {
        return outcome(proof);
    }
    let told = proof.tried.iter().take(TOLD).map(effect);
    let then = proof.then.iter().map(|then| format!("then {then} limits"));
    let told: Vec<String> = told.chain(then).collect();
    format!("{}: {}", outcome(proof), told.join("; "))
}

/// What is proved: `proved`, `found receiver's CPU`, `not proved: the time was over before all was tried`.
fn outcome(proof: &Proof) -> String {
    match &proof.outcome {
        Outcome::Proved => "proved".to_owned(),
        Outcome::Refuted(found) => {
            let named = proof.named.as_ref().map(ToString::to_string);
            format!(
                "{} is refuted; the bottleneck is {found}",
                named.unwrap_or_default()
            )
        }
        Outcome::Found(found) => format!("found {found}"),
        Outcome::Likely(found, why) => format!("not proved, most likely {found}: {why}"),
        Outcome::Undecided(why) => format!("not proved: {why}"),
    }
}

/// The proof with every change, a line each.
pub(crate) fn proof_lines(proof: &Proof) -> Vec<String> {
    let tried = proof.tried.iter();
    let tried =
        tried.map(|one| format!("{}{}: {}", effect(one), elasticity(one), one.limits.name()));
    let untried = proof.untried.iter();
    let untried = untried.map(|one| format!("not tried: {}: {}", one.label, one.reason));
    let all = std::iter::once(outcome(proof)).chain(tried);
    all.chain(untried).collect()
}

/// `with 50 % less CPU time for the sender, throughput falls by 49.8 % [49.0, 50.5]`.
fn effect(one: &Tried) -> String {
    // Of a test on which nothing came only a least ratio is known.
    if one.rate.low.is_some() && one.rate.high.is_none() {
        return format!("with {}, data arrive", one.changed);
    }
    let (verb, sign) = match one.rate.value > 1.0 {
        true => ("rises", 1.0),
        false => ("falls", -1.0),
    };
    let change = one.rate.map(|ratio| sign * 100.0 * (ratio - 1.0));
    let change = change.with_places(1);
    let (number, bounds) = change.split_once(' ').unwrap_or((&change, ""));
    let by = format!("{number} % {bounds}");
    format!(
        "with {}, throughput {verb} by {}",
        one.changed,
        by.trim_end()
    )
}

fn elasticity(one: &Tried) -> String {
    let found = one.elasticity.map(|found| found.with_places(2));
    found.map_or(String::new(), |found| format!(", elasticity {found}"))
}

#[cfg(test)]
mod tests {
    use bitcost_analysis::explain::NotTried;
    use bitcost_model::conditions::Conditions;

    use super::*;

    fn tried(label: &str, ratio: f64, blocks: u32) -> Tried {
        Tried {
            label: label.to_owned(),
            changed: label.to_owned(),
            rate: Interval::alone(ratio),
            cost: None,
            background: None,
            elasticity: None,
            limits: Decision::DoesNot,
            blocks,
        }
    }

    fn rung(rate: f64, change: Option<Kept>) -> Rung {
        Rung {
            rate: Some(Interval::alone(rate)),
            cost: Some(0.3),
            change,
            ..Rung::default()
        }
    }

    #[test]
    fn nothing_is_said_to_gain_only_where_that_was_compared() {
        let mut ladder = Ladder::new(&Conditions::default(), Goal::Rate, None);
        for end in [End::Early, End::Undecided] {
            ladder.end = end;
            assert_eq!(gained(&ladder), "No change was shown to gain 3 % or more.");
        }
        ladder.end = End::Complete;
        assert_eq!(
            ladder_answer(&ladder),
            "No change that was tried gains 3 % or more."
        );
    }

    #[test]
    fn finalists_and_refusals_of_a_search_are_told_once() {
        let mut ladder = Ladder::new(&Conditions::default(), Goal::Rate, Some(0));
        let options = "--receive-buffer 48K --send-mode writev";
        let kept = Kept {
            tried: tried(options, 3.0, 3),
            keep: "one call; another".to_owned(),
            needs_root: false,
            settings: [("send_mode".to_owned(), "writev".to_owned())].into(),
        };
        ladder.rungs = vec![rung(1000.0, None), rung(3000.0, Some(kept))];
        ladder.without = vec![
            tried("--send-mode sendfile", 0.9, 1),
            tried("--send-mode writev", 1.1, 3),
            Tried {
                limits: Decision::Open,
                ..tried("--waiting spin", 1.45, 1)
            },
        ];
        ladder.untried = ["a", "b", "c"]
            .map(|label| NotTried::new(label, "forbidden"))
            .into();
        let decision = Decided::Changes(serde_json::json!(ladder));
        assert_eq!(
            search_sentence(&decision).as_deref(),
            Some("auto: --receive-buffer 48K --send-mode writev: from 1.00 Gbit/s to 3.00 Gbit/s.")
        );
        let blocks = ladder_blocks(&ladder);
        let Block::Table(_, lines) = &blocks[0] else {
            panic!("{blocks:?}");
        };
        assert_eq!(lines.header, ["step", "change", "rate", "µs/KiB"]);
        assert_eq!(lines.rows[1].1[1], options);
        assert_eq!(
            blocks[1..],
            [
                "tried and not kept: --send-mode sendfile (-10 %), --send-mode writev (+10 %), --waiting spin (+45 %, in one run, not confirmed)",
                "not tried: 3 combinations: forbidden",
                "calls: one call; another",
            ]
            .map(Block::words)
        );
    }
}
