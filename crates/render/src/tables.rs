//! The tables of a summary, metric by metric, and the sentences above them.

use std::collections::HashSet;

use bitcost_analysis::cells::{CellSummary, has};
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::summary::{ImprovementSummary, Summary, tabled_metrics};
use bitcost_model::imported::NOT_SAID;
use bitcost_model::study::{Label, phrase};
use bitcost_model::units::counted;
use bitcost_study::{Compared, Factor};

use crate::block::Block;
use crate::lines::Lines;
use crate::number;
use crate::words::{around, factor_words, figure, intervals_of, title};

type Levels = Vec<(String, Label)>;

/// A row, and whether it is the author's.
type Row = (bool, Vec<String>);

/// The number of columns of a table for which a page has room.
pub(crate) const COLUMNS: usize = 12;

/// The most factors whose levels are written alone; with more, each level has its factor's name.
const FEW: usize = 2;

/// The sentences above the tables: how many runs there are, what the brackets are, what levels mean.
pub(crate) fn head(summary: &Summary) -> Vec<Block> {
    let runs = || summary.cells.iter().map(|cell| cell.runs);
    let spread = if runs().any(|runs| runs > 1) {
        let intervals = intervals_of(summary.cells.iter());
        let given = around(
            "; of a single run its program's",
            &given_levels(summary),
            "",
        );
        format!("Medians over runs, in brackets their {intervals}{given}.")
    } else if !summary.has_used() {
        "No run has a result, so there are no figures.".to_owned()
    } else if summary.cells.iter().any(CellSummary::has_bounds) {
        let given = given_levels(summary);
        format!(
            "A single run says nothing about the spread; in brackets the interval that its program gives{given}."
        )
    } else {
        "A single run says nothing about the spread, so there are no intervals.".to_owned()
    };
    let (least, most) = (runs().min().unwrap_or(0), runs().max().unwrap_or(0));
    let from = match least < most {
        true => format!("{least} to "),
        false => String::new(),
    };
    let (most, seed) = (counted(most, "run"), summary.seed);
    let document = summary.study.expect.as_ref();
    [format!("{from}{most} per cell; seed {seed}."), spread]
        .into_iter()
        .chain(document.map(|expect| format!("document: {}", expect.source)))
        .chain(meanings(summary))
        .map(Block::words)
        .collect()
}

/// ` (99 %)`: the levels of the intervals that other programs give single runs; empty where none is known.
fn given_levels(summary: &Summary) -> String {
    let levels = summary
        .cells
        .iter()
        .filter_map(CellSummary::given_level_pct);
    let mut levels: Vec<String> = levels.map(|level| level.to_string()).collect();
    levels.sort();
    levels.dedup();
    around(" (", &levels.join(" % or "), " %)")
}

/// `TCP, offloads on: …` for each level whose meaning the study gives and that has cells.
fn meanings(summary: &Summary) -> impl Iterator<Item = String> {
    let factors = summary.study.factors.iter();
    let levels = factors.flat_map(|factor| factor.levels.iter().map(move |level| (factor, level)));
    levels.filter_map(|(factor, level)| {
        let about = level.about.as_ref()?;
        let this = [(factor.name.clone(), level.label.clone())];
        let is_used = summary.cells.iter().any(|cell| has(&cell.levels, &this));
        is_used.then(|| format!("{}: {about}.", level.label))
    })
}

/// Every table that is shown. A table has a row per cell if the study's own table would have more than `columns` columns,
/// or be mostly empty.
pub(crate) fn tables(summary: &Summary, columns: usize) -> Vec<Block> {
    let is_listed = is_list_needed(summary, columns);
    let of = |name: &str| {
        let mut blocks = vec![Block::Heading(title(name))];
        match is_listed {
            true => blocks.push(Block::Table(String::new(), cells(summary, name))),
            false => blocks.extend(grids(summary, name)),
        }
        if is_listed || !is_improvement_down(summary) {
            blocks.extend(improvements(summary, name));
        }
        blocks
    };
    tabled_metrics(summary).into_iter().flat_map(of).collect()
}

/// True if the study's table has more columns than `columns`, or if fewer than a third of its
/// places have a cell.
fn is_list_needed(summary: &Summary, columns: usize) -> bool {
    let study = &summary.study;
    let factor = study
        .table
        .columns
        .as_deref()
        .and_then(|name| study.factor(name));
    let places = study.factors.iter().fold(1, |all: usize, factor| {
        all.saturating_mul(factor.levels.len())
    });
    factor.is_some_and(|factor| factor.levels.len() > columns)
        || summary.cells.len().saturating_mul(3) < places
}

/// Whether the improvement is one between rows of the study's table, whose last row it then is.
fn is_improvement_down(summary: &Summary) -> bool {
    let table = &summary.study.table;
    let improvement = table.improvement.as_ref();
    improvement.is_some_and(|improvement| improvement.factor == table.rows)
}

/// A row of our figures, and below it one of the document's where it has some.
fn pair(name: String, ours: Vec<Option<String>>, theirs: Vec<Option<String>>) -> Vec<Row> {
    let row = |name: String, all: Vec<Option<String>>, absent: &str| {
        let words = all.into_iter();
        let words = words.map(|words| words.unwrap_or(absent.to_owned()));
        std::iter::once(name).chain(words).collect()
    };
    let has_theirs = theirs.iter().any(Option::is_some);
    let theirs = has_theirs.then(|| (true, row("  document".to_owned(), theirs, "")));
    std::iter::once((false, row(name, ours, "-")))
        .chain(theirs)
        .collect()
}

/// The cells that have the metric, one below the other.
fn cells(summary: &Summary, name: &str) -> Lines {
    let factors = summary.study.factors.iter();
    let factors: Vec<String> = factors.map(|factor| factor_words(&factor.name)).collect();
    let is_few = factors.len() <= FEW;
    let head = if is_few {
        factors.join(" · ")
    } else {
        "cell".to_owned()
    };
    let row = |cell: &CellSummary| {
        let words = if is_few { cell.name() } else { named(cell) };
        let theirs = cell.expected(name).map(|value| value.to_string());
        pair(words, vec![figure(cell, name)], vec![theirs])
    };
    // Notes under the tables say which cells lack a value.
    let has_one =
        |cell: &&CellSummary| cell.figure(name).is_some() || cell.expected(name).is_some();
    Lines {
        header: vec![head, unit(name)],
        rows: summary.cells.iter().filter(has_one).flat_map(row).collect(),
    }
}

fn unit(name: &str) -> String {
    metric(name).map_or_else(String::new, |metric| metric.unit.to_owned())
}

/// `message size (bytes) 1024, transport TCP`, without levels that a file does not give.
fn named(cell: &CellSummary) -> String {
    let levels = cell.levels.iter();
    let given = levels.filter(|(_, label)| *label != Label::Text(NOT_SAID.to_owned()));
    let words: Vec<String> = given
        .map(|(factor, label)| format!("{} {label}", factor_words(factor)))
        .collect();
    if words.is_empty() {
        cell.name()
    } else {
        words.join(", ")
    }
}

/// The improvement that the study requests, where the metric has a better side.
fn requested<'a>(summary: &'a Summary, name: &str) -> Option<&'a Compared> {
    metric(name).filter(|metric| Metric::has_better_side(metric))?;
    summary.study.table.improvement.as_ref()
}

fn ratios(of: &ImprovementSummary, name: &str) -> (Option<String>, Option<String>) {
    let ours = of.figures.get(name);
    let theirs = of.expected.iter().find(|(known, _)| known == name);
    (
        ours.map(|ratio| number::improvement(name, ratio)),
        theirs.map(|(_, ratio)| format!("×{}", number::plain(*ratio))),
    )
}

fn improvement_name(requested: &Compared) -> String {
    format!("improvement, {} → {}", requested.old, requested.new)
}

/// The requested improvement at each combination of the other levels.
fn improvements(summary: &Summary, name: &str) -> Option<Block> {
    let requested = requested(summary, name)?;
    let rows = summary.improvements.iter().flat_map(|found| {
        let (ours, theirs) = ratios(found, name);
        let words = match found.levels.is_empty() {
            true => "all".to_owned(),
            false => phrase(&found.levels),
        };
        pair(words, vec![ours], vec![theirs])
    });
    let header = vec!["cell".to_owned(), "ratio".to_owned()];
    let rows = rows.collect();
    let title = format!("{}:", improvement_name(requested));
    Some(Block::Table(title, Lines { header, rows }))
}

/// The study's tables of a metric: the levels of one factor down, those of another across; one per
/// combination of the other factors' levels that has cells.
fn grids(summary: &Summary, name: &str) -> Vec<Block> {
    let table = &summary.study.table;
    let is_placed = |factor: &&Factor| {
        factor.name == table.rows || Some(&factor.name) == table.columns.as_ref()
    };
    let others = summary
        .study
        .factors
        .iter()
        .filter(|factor| !is_placed(factor));
    let grid = |fixed: Levels| {
        let rows = existing(summary, &fixed, &table.rows);
        let columns = match &table.columns {
            Some(columns) => existing(summary, &fixed, columns),
            None => vec![Levels::new()],
        };
        let words = fixed
            .iter()
            .map(|(factor, label)| format!("{} {label}", factor_words(factor)));
        let place = around("", &words.collect::<Vec<_>>().join(", "), ":");
        let heads = columns.iter().map(|column| match &column[..] {
            [(_, label)] => label.to_string(),
            _ => unit(name),
        });
        let row = |row: &Levels| {
            let at = |column: &Levels| summary.cell(&[&fixed[..], column, row].concat());
            let ours = |column| figure(at(column)?, name);
            let theirs = |column| Some(at(column)?.expected(name)?.to_string());
            let (ours, theirs) = (columns.iter().map(ours), columns.iter().map(theirs));
            pair(row[0].1.to_string(), ours.collect(), theirs.collect())
        };
        let down = requested(summary, name).filter(|_| is_improvement_down(summary));
        let improvement = down.map(|requested| {
            let at = |column: &Levels| {
                let mut all = summary.improvements.iter();
                let at = all.find(|of| has(&of.levels, &[&fixed[..], column].concat()));
                at.map_or((None, None), |of| ratios(of, name))
            };
            let (ours, theirs) = columns.iter().map(at).unzip();
            pair(improvement_name(requested), ours, theirs)
        });
        let lines = Lines {
            header: std::iter::once(factor_words(&table.rows))
                .chain(heads)
                .collect(),
            rows: (rows.iter().flat_map(row))
                .chain(improvement.into_iter().flatten())
                .collect(),
        };
        (!rows.is_empty()).then_some(Block::Table(place, lines))
    };
    combinations(others).into_iter().filter_map(grid).collect()
}

/// The levels of a factor for which there is a cell with these levels, in the study's order.
fn existing(summary: &Summary, fixed: &Levels, factor: &str) -> Vec<Levels> {
    let cells = summary.cells.iter().filter(|cell| has(&cell.levels, fixed));
    let there: HashSet<&(String, Label)> = cells.flat_map(|cell| &cell.levels).collect();
    let levels = summary
        .study
        .factor(factor)
        .map_or(&[][..], |factor| &factor.levels);
    let levels = levels
        .iter()
        .map(|level| (factor.to_owned(), level.label.clone()));
    levels
        .filter(|level| there.contains(level))
        .map(|level| vec![level])
        .collect()
}

/// Every combination of the factors' levels, the first factor slowest; one empty combination where
/// there are none.
fn combinations<'a>(factors: impl Iterator<Item = &'a Factor>) -> Vec<Levels> {
    factors.fold(vec![Levels::new()], |fixed, factor| {
        let extend = |levels: &Levels| {
            let with = factor.levels.iter().map(|level| {
                let level = (factor.name.clone(), level.label.clone());
                [&levels[..], &[level]].concat()
            });
            with.collect::<Vec<Levels>>()
        };
        fixed.iter().flat_map(extend).collect()
    })
}
