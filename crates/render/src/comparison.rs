//! A comparison: the answer in a sentence, a table of the changes, the worst first, and what else differs.

use std::time::Duration;

use bitcost_analysis::compare::{Change, ComparedCell, Comparison, Shift, Verdict};
use bitcost_model::shell::shell_word;
use bitcost_model::units::{counted, show_duration};

use crate::block::Block;
use crate::lines::Lines;
use crate::number;
use crate::words::{around, named};

/// The verdict over all, what changed and what is missing, or with `is_whole` every change, and what else differs.
pub fn comparison(comparison: &Comparison, is_whole: bool) -> Vec<Block> {
    let Comparison { old, new, .. } = comparison;
    let changes = comparison
        .changes()
        .filter(|change| change.verdict.is_change());
    let tally = (changes.count() > 1).then(|| comparison_tally(comparison));
    let mut blocks = vec![Block::words(comparison_headline(comparison))];
    blocks.extend(tally.or_else(|| to_decide(comparison)).map(Block::words));
    blocks.extend([Block::Gap, Block::words(format!("{old} → {new}"))]);
    let has_all = is_whole || comparison.cells.len() == 1;
    let lines = comparison_lines(comparison, has_all);
    let left = comparison.changes().count() - lines.rows.len();
    if !lines.rows.is_empty() {
        blocks.push(Block::Table(String::new(), lines));
    }
    let is_adjusted = |of: &Change| of.is_adjusted && (has_all || is_told(of));
    let adjusted = !is_whole && comparison.changes().any(is_adjusted);
    blocks.extend(adjusted.then(|| Block::words(ADJUSTED)));
    let left = (left > 0).then(|| format!("{} more with --all", counted(left, "figure")));
    blocks.extend(left.map(Block::words));
    blocks.extend(remarks(comparison));
    if is_whole {
        blocks.extend([Block::Gap, Block::words(comparison_method(comparison))]);
    }
    blocks
}

/// Why a change may contradict its medians.
const ADJUSTED: &str =
    "Change: adjusted to an equal distance and speed of the endpoints' CPUs; old and new are not";

/// The most times as many runs that are worth a sentence.
const MOST_TIMES: f64 = 1000.0;

/// What decides a comparison that found nothing and leaves something open, and how long it takes.
fn to_decide(comparison: &Comparison) -> Option<String> {
    let has_found = comparison
        .changes()
        .any(|change| change.verdict.is_change());
    let is_open = comparison.count(Verdict::CannotTell) > 0 && !has_found;
    let threshold = comparison.threshold_pct;
    // How long runs of other programs take is not known.
    let is_imported = comparison.seconds <= 0.0;
    let Some(smallest) = comparison.smallest_pct().filter(|_| is_open) else {
        let few = "A side of one run has an interval only as a test of a second or more: make 5 blocks or more (`--blocks 5`), or longer tests.";
        let files = "A side of one imported run has no interval: import 5 files or more of each side together (`bitcost import FILE…`).";
        let few = if is_imported { files } else { few };
        return is_open.then(|| few.to_owned());
    };
    let shown = format!(
        "These runs show changes from {} % on.",
        number::plain(smallest)
    );
    let times = (smallest / threshold).powi(2).ceil().max(2.0);
    if times > MOST_TIMES {
        return Some(shown);
    }
    let seconds = 2.0 * times * comparison.seconds;
    let time = show_duration(Duration::from_secs_f64(seconds));
    let how = match again(comparison, seconds) {
        Some(command) => format!("blocks: {command}"),
        None if is_imported => "files of each side, imported together".to_owned(),
        None if comparison.is_within => "blocks (`--blocks`)".to_owned(),
        None => {
            "on each side, taken together with --old and --new; interleaved (`--against`), fewer"
                .to_owned()
        }
    };
    let time = around(" (", if seconds > 0.0 { &time } else { "" }, ")");
    Some(format!(
        "{shown} For {threshold} % it takes about {times} times as many {how}{time}"
    ))
}

/// The command that made both sides, so that it takes this long; absent where it names no blocks and no time.
fn again(comparison: &Comparison, seconds: f64) -> Option<String> {
    let mut words = comparison.command_line.iter().skip(1);
    let mut command = vec!["bitcost".to_owned()];
    while let Some(word) = words.next() {
        match word
            .split_once('=')
            .map_or(word.as_str(), |(option, _)| option)
        {
            "--resume" => return None,
            "--ci" | "--like-the-document" => {}
            "--blocks" | "--budget" | "--name" if word.contains('=') => {}
            "--blocks" | "--budget" | "--name" => _ = words.next(),
            _ => command.push(shell_word(word).into_owned()),
        }
    }
    let is_made = ["test", "run"].contains(&command.get(1)?.as_str()) && seconds > 0.0;
    is_made.then(|| format!("`{} --budget {seconds:.0}s`", command.join(" ")))
}

/// What differs in addition to the compared settings, and the cells that have no counterpart.
fn remarks(comparison: &Comparison) -> Vec<Block> {
    let all = [
        ("hosts differ: ", &comparison.host_differences),
        ("settings differ: ", &comparison.setting_differences),
        ("", &comparison.run_remarks),
    ];
    let remarks = all
        .into_iter()
        .flat_map(|(mark, all)| all.iter().map(move |words| format!("{mark}{words}")));
    let alone = [true, false].map(|is_old| unmatched(comparison, is_old));
    remarks
        .chain(alone.concat())
        .map(|words| Block::Note("- ".to_owned(), words))
        .collect()
}

/// The most cells of one side alone that are named.
const ALONE: usize = 30;

/// The cells of a side that have no counterpart, a sentence each; if it has many, only the first.
fn unmatched(comparison: &Comparison, is_old: bool) -> Vec<String> {
    let side = comparison.side(is_old);
    let all = comparison.unmatched.iter();
    let all: Vec<_> = all.filter(|only| only.is_old == is_old).collect();
    let named = all.iter().take(ALONE);
    let named = named.map(|only| format!("only in {side}: {}", only.cell));
    let more = all.len().saturating_sub(ALONE);
    let rest = (more > 0).then(|| format!("only in {side}: {}", counted(more, "more cell")));
    named.chain(rest).collect()
}

/// The method of a comparison's figures, and whether blocks were paired.
fn comparison_method(comparison: &Comparison) -> String {
    let all = comparison.changes().count();
    let paired = comparison.changes().filter(|change| change.is_paired);
    let adjusted = comparison.changes().filter(|change| change.is_adjusted);
    let adjusted = match adjusted.count() {
        0 => String::new(),
        count => format!(
            ", {count} of {all} changes adjusted to an equal distance and speed of the endpoints' CPUs"
        ),
    };
    let how = match comparison.same_blocks {
        true => format!(
            "both sides in the same blocks; paired within them in {} of {}, which needs 5 blocks in which both sides vary together",
            paired.count(),
            counted(all, "change")
        ),
        false => "the blocks of both sides are independent".to_owned(),
    };
    format!(
        "Old and new are medians of blocks. Change: of the blocks' geometric means, with its 95 % interval (Welch, on logarithms; of two single runs by what varied within them and usually does between them). Threshold {} %; {how}{adjusted}. A verdict is a change that is clear among all comparisons (Holm, 5 %).",
        comparison.threshold_pct
    )
}

/// The number of changes with each verdict: `2 worse, 24 same`.
pub(crate) fn comparison_tally(comparison: &Comparison) -> String {
    let counts = Verdict::ALL.into_iter().filter_map(|verdict| {
        let count = comparison.count(verdict);
        (count > 0).then(|| format!("{count} {}", verdict.name()))
    });
    match counts.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "nothing to compare".to_owned(),
        counts => counts,
    }
}

/// Every change in words, one per cell and metric; unless `is_whole`, what changed and what is missing.
fn comparison_lines(comparison: &Comparison, is_whole: bool) -> Lines {
    let median = |median: Option<f64>| median.map_or("-".to_owned(), number::plain);
    let row = |(cell, change): (&ComparedCell, &Change)| {
        vec![
            cell.name(),
            named(change.metric),
            shown(change),
            change.verdict.name().to_owned(),
            median(change.old_median),
            median(change.new_median),
            format!("{}, {}", change.old_blocks, change.new_blocks),
        ]
    };
    let header = [
        "cell",
        "metric",
        "change [95 %]",
        "verdict",
        "old",
        "new",
        "blocks",
    ];
    let all = in_order(comparison).into_iter();
    Lines::new(
        header,
        all.filter(|(_, change)| is_whole || is_told(change))
            .map(row),
    )
}

/// Whether a change is in the table of what changed and what is missing.
fn is_told(change: &Change) -> bool {
    change.verdict.is_change() || change.verdict == Verdict::Missing
}

/// The order of verdicts: what got worse, what is missing, what got better, what else changed, what cannot be
/// determined, what is the same, and what only the new side has.
const ORDER: [Verdict; 7] = [
    Verdict::Worse,
    Verdict::Missing,
    Verdict::Better,
    Verdict::Changed,
    Verdict::CannotTell,
    Verdict::Same,
    Verdict::New,
];

/// Every change with its cell, by its verdict, the largest first.
fn in_order(comparison: &Comparison) -> Vec<(&ComparedCell, &Change)> {
    let place = |change: &Change| {
        let order = ORDER.iter().position(|verdict| *verdict == change.verdict);
        let is_ratio = matches!(change.shift, Some(Shift::Ratio(_)));
        (order, change.verdict.is_change() && is_ratio)
    };
    let size = |change: &Change| match change.verdict.is_change() {
        true => change.shift.map_or(0.0, |shift| shift.change().value.abs()),
        false => 0.0,
    };
    let cells = comparison.cells.iter();
    let mut all: Vec<_> = cells
        .flat_map(|cell| cell.changes.iter().map(move |change| (cell, change)))
        .collect();
    all.sort_by(|(_, a), (_, b)| place(a).cmp(&place(b)).then(size(b).total_cmp(&size(a))));
    all
}

/// `+5.1 % [+3.0, +7.2]`, or in the metric's unit where there is no ratio.
fn shown(change: &Change) -> String {
    match &change.shift {
        None => "-".to_owned(),
        Some(shift @ Shift::Ratio(_)) => number::signed(&shift.change(), "%", 1),
        Some(Shift::Difference(difference)) => number::signed_like_plain(difference, change.unit()),
    }
}

/// What changed and by how much, or that nothing did. It names the largest change to the worse, without one the
/// largest to the better; the tally counts the others.
pub(crate) fn comparison_headline(comparison: &Comparison) -> String {
    let all = in_order(comparison);
    let largest = all.iter().find(|(_, change)| change.verdict.is_change());
    let words = match largest {
        Some(first) => sentence(*first, comparison.cells.len()),
        None if all.is_empty() => "Nothing could be compared".to_owned(),
        None => unchanged(comparison),
    };
    let new = &comparison.new;
    match comparison.count(Verdict::Missing) {
        0 => words + ".",
        count => format!("{words}; {} missing in {new}.", are(count)),
    }
}

/// `Throughput falls from 4600 to 3680 Mbit/s with 1024 · UDP: worse`.
fn sentence((cell, change): (&ComparedCell, &Change), cells: usize) -> String {
    let median = |value: Option<f64>| value.map_or("no value".to_owned(), number::plain);
    let (old, new) = (median(change.old_median), median(change.new_median));
    let verb = match change.shift.map(|shift| shift.change().value) {
        Some(value) if value < 0.0 => "falls",
        _ => "rises",
    };
    let unit = around(" ", change.metric.unit, "");
    let place = match cells {
        1 => String::new(),
        _ => around(" with ", &cell.name(), ""),
    };
    let (title, verdict) = (change.metric.title, change.verdict.name());
    format!("{title} {verb} from {old} to {new}{unit}{place}: {verdict}")
}

fn unchanged(comparison: &Comparison) -> String {
    let threshold = comparison.threshold_pct;
    let within = match comparison.same_within_pct() {
        pct if pct > threshold => number::plain(pct),
        _ => threshold.to_string(),
    };
    let counts = [Verdict::Same, Verdict::CannotTell].map(|of| comparison.count(of));
    let [same, open] = counts.map(are);
    match counts {
        [0, 0] => "No metric has a value on both sides".to_owned(),
        [_, 0] => format!("No change was found: {same} the same within {within} %"),
        [0, _] => format!(
            "These runs do not show whether anything changed by {threshold} %: {open} too uncertain to tell"
        ),
        _ => format!(
            "No change was found: {same} the same within {within} %, and {open} too uncertain to tell"
        ),
    }
}

/// `3 figures are`, `1 figure is`.
fn are(count: usize) -> String {
    match count {
        1 => "1 figure is".to_owned(),
        _ => format!("{count} figures are"),
    }
}
