//! An explanation for people: of each cell what limited it, the evidence, what comes next and what to change.

use std::hash::Hash;

use bitcost_analysis::explain::{
    Bound, Candidate, Confidence, Evidence, ExplainedCell, ExplainedRun, Explanation, Limiter,
    Remedy, Verdict, Warning,
};
use bitcost_model::units::counted;
use indexmap::IndexMap;

use crate::block::Block;
use crate::experiment::proof_lines;
use crate::number;
use crate::words::around;

/// The most names of a list that are all given.
const NAMES: usize = 6;

/// One line for each cell, or for cells of which the same is said.
pub fn explanation_lines(explanation: &Explanation) -> Vec<String> {
    let groups = grouped(&explanation.cells, limited_by).into_iter();
    groups
        .map(|(names, words)| format!("{names}: {words}"))
        .collect()
}

/// The names of cells, and what is said of each of them.
fn grouped<T: Hash + Eq>(
    cells: &[ExplainedCell],
    of: impl Fn(&ExplainedCell) -> T,
) -> Vec<(String, T)> {
    let mut groups: IndexMap<T, Vec<&str>> = IndexMap::new();
    for cell in cells {
        groups.entry(of(cell)).or_default().push(&cell.name);
    }
    let groups = groups.into_iter();
    groups.map(|(said, names)| (listed(&names), said)).collect()
}

/// `receiver's CPU (5 runs, likely)`, or each limiter with its share.
fn limited_by(cell: &ExplainedCell) -> String {
    let Some(verdict) = cell.verdict() else {
        return "no run with counters that say what limited it".to_owned();
    };
    let (count, shares) = (cell.runs.len(), cell.shares());
    let runs = counted(count, "run");
    if shares.len() == 1 {
        return match verdict.limiter().is_unknown() {
            true => format!("{} ({runs})", verdict.limiter()),
            false => format!(
                "{} ({runs}, {})",
                verdict.limiter(),
                verdict.confidence.name()
            ),
        };
    }
    let part = |(limiter, share): &(Limiter, f64)| {
        format!("{limiter} in {:.0} of {runs}", share * count as f64)
    };
    shares.iter().map(part).collect::<Vec<_>>().join("; ")
}

/// Names of cells; a long list is shortened to the first names, the last, and their number.
fn listed(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [first, second, third, .., last] if names.len() > NAMES => {
            let count = names.len();
            format!("{first}; {second}; {third}; … {last} ({count} cells)")
        }
        all => all.join("; "),
    }
}

/// The explanation for people; with `each_run`, it has a line for every run.
pub fn explanation_blocks(explanation: &Explanation, each_run: bool) -> Vec<Block> {
    let said = |cell: &ExplainedCell| {
        let runs = cell.runs.iter().filter(|_| each_run);
        let why = why(cell).into_iter().chain(runs.map(run));
        (limited_by(cell), Vec::from_iter(why))
    };
    let mut blocks = vec![Block::words(&*explanation.title)];
    for (names, (limiter, why)) in grouped(&explanation.cells, said) {
        blocks.extend([Block::Gap, Block::words(format!("{names}: {limiter}"))]);
        blocks.extend(why);
    }
    blocks.extend((!explanation.warnings.is_empty()).then_some(Block::Gap));
    blocks.extend(explanation.warnings.iter().map(warning));
    blocks
}

fn warning(warning: &Warning) -> Block {
    let cells = around("", &listed(&warning.cells), ": ");
    let words = format!("{cells}{}; {}", warning.found, warning.remedy);
    Block::Note("warning: ".to_owned(), words)
}

fn run(run: &ExplainedRun) -> Block {
    let detail = around(" (", &run.verdict.chosen.detail, ")");
    let words = format!("{}{detail}", run.verdict.limiter());
    item(&format!("run {}: ", run.run + 1), words)
}

/// A line below that of its cell.
fn item(mark: &str, words: impl Into<String>) -> Block {
    Block::Note(format!("  {mark}"), words.into())
}

/// What limited a cell, with evidence, what comes next, and what to change.
pub fn cell_blocks(name: &str, cell: &ExplainedCell) -> Vec<Block> {
    let first = Block::words(format!("{name}: {}", limited_by(cell)));
    std::iter::once(first).chain(why(cell)).collect()
}

fn why(cell: &ExplainedCell) -> Vec<Block> {
    let mixed = cell.limiter_words().filter(|_| cell.leading().len() > 1);
    let mut blocks = Vec::from_iter(mixed.map(|words| item("", words)));
    blocks.extend(cell.verdict().iter().flat_map(evidence_blocks));
    blocks.extend(remedy(cell).map(|words| item("remedy: ", words)));
    let proof = cell.proof.iter().flat_map(proof_lines);
    blocks.extend(proof.map(|words| item("experiment: ", words)));
    blocks
}

/// The most remedies that are said; and of those that nobody tried, where the limiter is not proved.
const REMEDIES: usize = 4;
const UNTRIED: usize = 2;

/// The remedies that are said: what was tried and gained most, else what may; and whether none of them was tried.
pub fn said(all: &[Remedy], is_proved: bool) -> (Vec<&Remedy>, bool) {
    // More flows are faster whatever holds one of them, and are no answer alone.
    let is_of_flows = |options: &String| options.starts_with("--flows");
    let mut gaining = all.iter().filter(|one| one.gain.is_some());
    let has_answer = gaining.any(|one| !one.options.as_ref().is_some_and(is_of_flows));
    let gained = all.first().is_some_and(|one| one.gain.is_some());
    let is_untried = !gained && !is_proved;
    let most = if is_untried { UNTRIED } else { REMEDIES };
    let gains = all.iter().filter(|one| one.gain.is_some() || !has_answer);
    (gains.take(most).collect(), is_untried)
}

/// What to change about what limited a cell. Absent where nothing is to be done.
pub(crate) fn remedy(cell: &ExplainedCell) -> Option<String> {
    let verdict = cell.verdict()?;
    let (shown, is_untried) = said(&cell.remedies, verdict.confidence == Confidence::Proved);
    let mut options = shown
        .iter()
        .filter(|one| one.options.is_some() || one.removes.is_some());
    let mark = match is_untried && options.next().is_some() {
        true => "not tried: ",
        false => "",
    };
    let words: Vec<String> = shown.into_iter().map(remedy_words).collect();
    let words = match words.is_empty() {
        true => verdict.remedy().to_owned(),
        false => format!("{mark}{}", words.join("; ")),
    };
    Some(words).filter(|words| !words.is_empty())
}

/// `with bbr 2.3 times as fast: --congestion bbr`, or `bbr (--congestion bbr)`.
fn remedy_words(remedy: &Remedy) -> String {
    let host = remedy.host.map_or("both hosts", |host| host.name());
    let root = remedy.command.as_ref();
    let root = root.map(|command| format!("as root at {host}: {command}"));
    let without = remedy.removes.as_ref();
    let without = without.map(|option| format!("without {option}"));
    let how = root.or(without).or_else(|| remedy.options.clone());
    let (words, how) = (&remedy.words, how.unwrap_or_default());
    match remedy.gain.map(|gain| number::plain(gain.value)) {
        Some(times) => format!(
            "with {words} {times} times as fast{}",
            around(": ", &how, "")
        ),
        None => format!("{words}{}", around(" (", &how, ")")),
    }
}

/// Evidence and suspects of a verdict.
pub fn evidence_blocks(verdict: &Verdict) -> Vec<Block> {
    let detail = Some(&verdict.chosen.detail).filter(|detail| !detail.is_empty());
    let detail = detail.map(|words| item("", &**words));
    let shown = verdict.chosen.evidence.iter();
    let shown = shown.map(|one| item("evidence: ", evidence(one)));
    let suspect = |next: &Candidate| {
        let weakest = next.weakest().map(evidence).unwrap_or_default();
        let words = format!("{}{}", next.limiter, around(": ", &weakest, ""));
        item("suspect: ", words)
    };
    let all = detail.into_iter().chain(shown);
    all.chain(verdict.suspects.iter().map(suspect)).collect()
}

/// `sender on a CPU 98.9 % (threshold: at least 75 %)`.
fn evidence(evidence: &Evidence) -> String {
    let unit = around(" ", evidence.unit, "");
    let (side, bound) = match evidence.bound {
        Bound::AtLeast(bound) => ("at least", bound),
        Bound::AtMost(bound) => ("at most", bound),
    };
    let [value, bound] = [evidence.value, bound].map(|value| number(value, evidence.unit));
    format!(
        "{} {value}{unit} (threshold: {side} {bound}{unit})",
        evidence.counter
    )
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
