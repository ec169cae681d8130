//! The answer of an execution in one sentence, with what limited it and what changes it: for its last screen and the
//! top of its page.

use bitcost_analysis::caveat::{Caveat, by_weight};
use bitcost_analysis::cells::{COVERED_FROM, CellSummary, RECEIVE_DEMAND, Status, has};
use bitcost_analysis::explain::{ExplainedCell, Explanation, Limiter, Warning};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::statistics::Interval;
use bitcost_analysis::summary::{Answered, Summary, measured, shown_metrics};
use bitcost_model::constants::floor_us_per_kib;
use bitcost_model::units::counted;
use bitcost_study::{Place, Sentence, Word};
use indexmap::{IndexMap, IndexSet};

use crate::block::Block;
use crate::lines::Lines;
use crate::number;
use crate::words::{around, figure, figure_marked, lowered, why_missing};

const FIGURES: usize = 3;

/// The most caveats of warnings, and the weight of a figure that is absent, which misleads nobody.
const CAVEATS: usize = 3;
const ABSENT: f64 = 0.05;

/// The costs of the two endpoints, by the unit that they are of.
const COSTS: [[&str; 2]; 2] = [
    ["send_service_demand_us_per_kib", RECEIVE_DEMAND],
    [
        "send_service_demand_us_per_transaction",
        "receive_service_demand_us_per_transaction",
    ],
];

/// The answer in words: the study's own sentences, or one about the first metric.
pub(crate) fn answer(findings: &Findings) -> String {
    own(findings).unwrap_or_else(|| extremes(&findings.summary))
}

/// What belongs to the answer of several cells: the intervals of its ratios, what limited the cells, and caveats.
pub(crate) fn beside_answer(findings: &Findings) -> Vec<Block> {
    let summary = &findings.summary;
    let ratios = summary.answers.iter().flatten().filter_map(with_bounds);
    let ratios = ratios.collect::<Vec<_>>().join("; ");
    let ratios = (!ratios.is_empty()).then(|| Block::labelled("intervals", ratios));
    let bottleneck = Block::labelled("bottleneck", of_cells(&findings.explanation));
    let floor = floor(summary);
    let caveats = caveats(findings).into_iter();
    ratios
        .into_iter()
        .chain(floor)
        .chain([bottleneck])
        .chain(caveats.map(|caveat| Block::labelled("caveat", caveat)))
        .collect()
}

/// How far above the floor of the hosts' own constants the costs are; absent where either is not known.
pub(crate) fn floor(summary: &Summary) -> Option<Block> {
    let floor = floor_us_per_kib(&summary.constants)?;
    let pair: Vec<&Metric> = COSTS[0].iter().filter_map(|name| metric(name)).collect();
    let costs = summary.cells.iter().filter_map(|cell| total(cell, &pair));
    let mut times: Vec<f64> = costs.map(|cost| cost / floor).collect();
    times.sort_by(f64::total_cmp);
    let (least, most) = (*times.first()?, *times.last()?);
    let [least, most, floor] = [least, most, floor].map(number::plain);
    let range = match times.len() {
        1 => least,
        _ => format!("{least} to {most}"),
    };
    let words = format!(
        "a KiB costs both ends {range} times what two copies and a packet of 64 KiB cost here, {floor} µs"
    );
    Some(Block::labelled("floor", words))
}

/// The last screen of a study: one table, one sentence, the bottlenecks, caveats, and the commands for more; `folder`
/// is where the log is.
pub fn study_answer(execution: &Findings, folder: &str) -> Vec<Block> {
    let summary = &execution.summary;
    let (lines, is_marked) = table(summary);
    let mut blocks = vec![Block::words(&*summary.study.question)];
    blocks.push(Block::Table(String::new(), lines));
    if is_marked {
        blocks.extend([Block::words(FEWER_RUNS), Block::Gap]);
    }
    blocks.push(Block::words(answer(execution)));
    blocks.extend(beside_answer(execution));
    let verbs = [
        ("pictures", "report"),
        ("why", "explain"),
        ("all tables", "show"),
    ];
    blocks.extend(
        verbs.map(|(label, verb)| Block::labelled(label, format!("bitcost {verb} {folder}"))),
    );
    blocks
}

const FEWER_RUNS: &str = "* from fewer runs than the cell has; `bitcost show` prints how many";

/// The first figure that the study shows and its runs have. Without a list of metrics it is the number of transactions
/// where all cells make them.
fn main_metric(summary: &Summary) -> Option<&'static Metric> {
    let name = "transactions_per_second";
    let mut used = summary.cells.iter().filter(|cell| cell.runs > 0);
    let is_usual = summary.study.table.metrics.is_empty() && summary.has(name);
    match is_usual && used.all(|cell| cell.figure(name).is_some()) {
        true => metric(name),
        false => measured(summary).first().copied(),
    }
}

/// The metrics of the table: the main one, those of the study's sentences and of its list, and the cost at both
/// endpoints; without these, the first that the study shows.
fn columns(summary: &Summary) -> Vec<&'static Metric> {
    let sentences = summary.study.sentences.iter();
    let said = sentences.flat_map(|sentence| &sentence.metrics);
    let named = said.chain(&summary.study.table.metrics);
    let named = named
        .filter_map(|name| metric(name))
        .filter(|metric| summary.has(metric.name));
    let mut found: Vec<&'static Metric> = Vec::new();
    let first = main_metric(summary).into_iter();
    let usual = stacked(summary).into_iter().chain(measured(summary));
    for metric in first.chain(named).chain(usual) {
        if found.len() < FIGURES && !found.iter().any(|known| known.name == metric.name) {
            found.push(metric);
        }
    }
    found
}

/// A row per cell, the first figure with its interval, the others without; and whether one of them is marked.
fn table(summary: &Summary) -> (Lines, bool) {
    let metrics = columns(summary);
    let row = |cell: &CellSummary| {
        let figures = metrics.iter().enumerate().map(|(place, metric)| {
            let shown = match place {
                0 => figure(cell, metric.name),
                _ => figure_marked(cell, metric.name),
            };
            shown.unwrap_or("-".to_owned())
        });
        std::iter::once(cell.name()).chain(figures).collect()
    };
    let title = |metric: &&Metric| {
        let words = match metric.name {
            name if name.starts_with("send_service_demand") => "send cost".to_owned(),
            name if name.starts_with("receive_service_demand") => "receive cost".to_owned(),
            _ => metric.title.to_lowercase(),
        };
        words + &around(", ", metric.unit, "")
    };
    let header = std::iter::once(String::new()).chain(metrics.iter().map(title));
    let rows: Vec<Vec<String>> = summary.cells.iter().map(row).collect();
    let mut figures = rows.iter().flat_map(|row| &row[1..]);
    let is_marked = figures.any(|figure| figure.ends_with('*'));
    (Lines::new(header, rows), is_marked)
}

/// What changes the answer, the most first: warnings, costs that are not known, runs that are not in it; and how many
/// other warnings there are.
fn caveats(findings: &Findings) -> Vec<String> {
    let (summary, warnings) = (&findings.summary, &findings.explanation.warnings);
    let caveat = |warning: &Warning| Some((warning.weight, warning.headline.clone()?));
    let mut caveats: Vec<Caveat> = warnings.iter().filter_map(caveat).take(CAVEATS).collect();
    let others = warnings.len() - caveats.len();
    caveats.extend(without_cost(summary).map(|words| (ABSENT, words)));
    let planned = summary.runs.len();
    let missing = [
        (summary.excluded.len(), "left out"),
        (not_made(summary), "not made"),
    ];
    let missing = missing.into_iter().filter(|(count, _)| *count > 0);
    let missing = missing.map(|(count, how)| {
        let words = format!("{} of {planned} {how}", counted(count, "run"));
        (count as f64 / planned.max(1) as f64, words)
    });
    caveats.extend(missing);
    let mut found = by_weight(caveats);
    if others > 0 {
        let count = counted(others, "warning");
        found.push(format!("{count}; see `bitcost explain`"));
    }
    found
}

/// The planned runs that were not begun.
pub(crate) fn not_made(summary: &Summary) -> usize {
    let runs = summary.runs.iter();
    runs.filter(|row| row.status == Status::Missing).count()
}

/// `8 of 8 cells have no send service demand: REASON`; absent where no shown figure of CPU time is missing.
fn without_cost(summary: &Summary) -> Option<String> {
    let shown = shown_metrics(summary).into_iter().filter_map(metric);
    let mut attributed = shown.filter(|metric| metric.attributed);
    attributed.find_map(|metric| {
        let lacks = |cell: &&CellSummary| cell.figure(metric.name).is_none();
        let reason = |cell: &CellSummary| Some(cell.unattributed.first()?.0.clone());
        let cells: Vec<String> = summary
            .cells
            .iter()
            .filter(lacks)
            .filter_map(reason)
            .collect();
        let (lacking, all, title) = (cells.len(), summary.cells.len(), lowered(metric.title));
        Some(format!(
            "{lacking} of {all} cells have no {title}: {}",
            cells.first()?
        ))
    })
}

/// The study's sentences: with their figures, or with the reason why these are not known; absent where the study has
/// none, and where no run can be used.
fn own(findings: &Findings) -> Option<String> {
    let summary = &findings.summary;
    let sentences = summary.study.sentences.iter().zip(&summary.answers);
    let text = |(sentence, figures): (&Sentence, &Option<Answered>)| match figures {
        Some(figures) => text(findings, sentence, *figures),
        None => not_known(summary, sentence),
    };
    let found: Vec<String> = sentences.map(text).collect();
    (summary.has_used() && !found.is_empty()).then(|| found.join(" "))
}

/// Which of a sentence's figures is not known, and why.
fn not_known(summary: &Summary, sentence: &Sentence) -> String {
    let sides = std::iter::once(&sentence.of).chain(&sentence.to);
    let cells =
        sides.filter_map(|levels| summary.cells.iter().find(|cell| has(&cell.levels, levels)));
    let lacking = |cell: &CellSummary| {
        let mut names = sentence.metrics.iter();
        let name = names.find(|name| cell.figure(name).is_none())?;
        Some(format!(
            "No figure of {}: {}.",
            cell.name(),
            why_missing(cell, name)
        ))
    };
    let why = cells.into_iter().find_map(lacking);
    why.unwrap_or_else(|| "One of the answer's cells has no usable run.".to_owned())
}

fn text(findings: &Findings, sentence: &Sentence, figures: Answered) -> String {
    let plain = |value: Option<f64>| value.map(number::plain).unwrap_or_default();
    let word = |word: &Word| match word {
        Word::Text(text) => text.clone(),
        Word::Place(Place::Of) => plain(Some(figures.of)),
        Word::Place(Place::To) => plain(figures.to),
        Word::Place(Place::Ratio) => times(figures),
        Word::Place(Place::Bottleneck) => {
            let mut cells = findings.summary.cells.iter();
            let at = cells.position(|cell| has(&cell.levels, &sentence.of));
            limiter_of(at.and_then(|at| findings.limiter_of(at)))
        }
    };
    sentence.words.iter().map(word).collect()
}

/// `4.38 times`, or that the runs show no difference.
fn times(Answered { ratio, runs, .. }: Answered) -> String {
    let Some(Interval { value, low, high }) = ratio else {
        return "an unknown number of times (the other figure is 0)".to_owned();
    };
    let remark = match low.zip(high) {
        None => " (one run each)",
        Some((low, high)) if low > 1.0 || high < 1.0 => "",
        Some(_) if runs < COVERED_FROM => " (too few runs to tell)",
        Some(_) => " (no measurable difference)",
    };
    format!("{}\u{a0}times{remark}", number::plain(value))
}

/// `4.38 [4.10, 4.70] in 3 runs`; absent where there is no interval.
fn with_bounds(Answered { ratio, runs, .. }: &Answered) -> Option<String> {
    let ratio = ratio.filter(|ratio| ratio.low.is_some())?;
    let remark = match *runs < COVERED_FROM {
        true => format!(" in {runs} runs"),
        false => String::new(),
    };
    Some(number::interval(&ratio) + &remark)
}

/// What the bars of the cells are of: the cost at both endpoints where it is known at both in most cells, otherwise one
/// metric.
pub(crate) fn stacked(summary: &Summary) -> Vec<&'static Metric> {
    let used = || summary.cells.iter().filter(|cell| cell.runs > 0);
    let in_most = |pair: &&[&str; 2]| {
        let has = |cell: &&CellSummary| pair.iter().all(|name| cell.figure(name).is_some());
        2 * used().filter(has).count() > used().count()
    };
    if let Some(pair) = COSTS.iter().find(in_most) {
        return pair.iter().filter_map(|name| metric(name)).collect();
    }
    let all = measured(summary);
    let throughput = all.iter().find(|metric| metric.name == "throughput_mbps");
    throughput.or(all.first()).copied().into_iter().collect()
}

/// The sum of a cell's figures of these metrics; none if it lacks one of them.
pub(crate) fn total(cell: &CellSummary, metrics: &[&'static Metric]) -> Option<f64> {
    let values = metrics.iter().map(|metric| cell.figure(metric.name));
    values.map(|figure| Some(figure?.value)).sum()
}

/// Where the main metric is highest, and where it is lowest.
fn extremes(summary: &Summary) -> String {
    let Some(metric) = main_metric(summary) else {
        return "No run has a result that can be used.".to_owned();
    };
    let cells = summary.cells.iter();
    let mut cells: Vec<(&CellSummary, Interval)> = cells
        .filter_map(|cell| Some((cell, cell.figure(metric.name)?)))
        .collect();
    // That of requests says nothing about streams.
    let is_stream = |cell: &CellSummary| cell.figure("transactions_per_second").is_none();
    if metric.name == "throughput_mbps" && cells.iter().any(|(cell, _)| is_stream(cell)) {
        cells.retain(|(cell, _)| is_stream(cell));
    }
    cells.sort_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
    let shown = |(cell, value): &(&CellSummary, Interval)| {
        let unit = around(" ", metric.unit, "");
        let (value, name) = match summary.cells.len() {
            // The lines under the answer have its interval.
            1 if metric.name == "throughput_mbps" => (
                number::throughput(&Interval::alone(value.value)),
                String::new(),
            ),
            1 => (number::plain(value.value) + &unit, String::new()),
            _ => (
                number::interval(value) + &unit,
                format!(" with {}", cell.name()),
            ),
        };
        let lost = cell.figure("loss_pct").filter(|lost| lost.value > 0.0);
        let lost = lost.filter(|_| metric.name.ends_with("throughput_mbps"));
        let lost = lost.map(|lost| format!(", {} % of datagrams lost", number::plain(lost.value)));
        format!("{value}{}{name}", lost.unwrap_or_default())
    };
    let (low, high) = (&cells[0], &cells[cells.len() - 1]);
    let lows = cells.iter().map(|(_, of)| of.low.unwrap_or(of.value));
    let highs = cells.iter().map(|(_, of)| of.high.unwrap_or(of.value));
    let overlap = lows.fold(f64::MIN, f64::max) <= highs.fold(f64::MAX, f64::min);
    let title = lowered(metric.title);
    let (least, most) = (shown(low), shown(high));
    match (cells.len(), overlap) {
        (1, _) => format!("{}: {least}.", metric.title),
        (_, true) => format!("No difference of {title} is measurable: {least} to {most}."),
        (_, false) => format!("Highest {title}: {most}; lowest: {least}."),
    }
}

/// `receiver's CPU in 4 cells; unknown in 2 cells`, the most frequent first.
pub(crate) fn of_cells(explanation: &Explanation) -> String {
    let mut found: IndexMap<String, usize> = IndexMap::new();
    for words in explanation
        .cells
        .iter()
        .filter_map(ExplainedCell::limiter_words)
    {
        *found.entry(words).or_default() += 1;
    }
    found.sort_by(|_, one, _, other| other.cmp(one));
    let verdicts = || explanation.cells.iter().filter_map(ExplainedCell::verdict);
    let part = |(words, count): (&String, &usize)| match found.len() {
        1 => words.clone(),
        _ => format!("{words} in {}", counted(*count, "cell")),
    };
    let mut limiters = found.iter().map(part).collect::<Vec<_>>().join("; ");
    if found.is_empty() {
        limiters = "no run that can be explained".to_owned();
    } else if verdicts().all(|verdict| verdict.limiter().is_unknown()) {
        let why: IndexSet<String> = verdicts().map(|verdict| verdict.chosen.detail).collect();
        limiters += &match why.len() {
            1 => around(": ", &why[0], ""),
            _ => "; see `bitcost explain`".to_owned(),
        };
    }
    limiters
}

/// `receiver's CPU (likely)`.
pub(crate) fn limiter_of(cell: Option<&ExplainedCell>) -> String {
    let words = of_cell(cell);
    let (limiter, _) = words.split_once(": ").unwrap_or((&words, ""));
    limiter.to_owned()
}

/// `receiver's CPU (likely): in the kernel, in its interface's NAPI thread`.
pub(crate) fn of_cell(limiter: Option<&ExplainedCell>) -> String {
    let Some((cell, verdict)) = limiter.and_then(|cell| Some((cell, cell.verdict()?))) else {
        return "unknown: no run can be explained".to_owned();
    };
    let shares = cell.shares();
    if shares.len() > 1 {
        let share = |(limiter, share): &(Limiter, f64)| format!("{limiter} {:.0} %", 100.0 * share);
        shares.iter().map(share).collect::<Vec<_>>().join(", ")
    } else {
        let confidence = match verdict.limiter().is_unknown() {
            true => String::new(),
            false => format!(" ({})", verdict.confidence.name()),
        };
        let detail = around(": ", &verdict.chosen.detail, "");
        format!("{}{confidence}{detail}", verdict.limiter())
    }
}
