//! A comparison as text: first what changed, the worst first, then what cannot be determined, then what is
//! the same.

use bitcost_analysis::compare::{Change, ComparedCell, Comparison, Verdict};
use bitcost_model::units::counted;
use comfy_table::{CellAlignment, Table as Grid, presets};

use crate::column_width::fit;
use crate::comparison::{
    RUNS, by_speed, comparison_lines, comparison_method, comparison_remarks, comparison_tally,
    comparison_unmatched, in_order, moved_together, refusals, shown,
};
use crate::comparison_headline::comparison_headline;
use crate::layout::paragraph;
use crate::lines::Lines;
use crate::number;

/// The columns of the words before a change.
const LABEL: usize = 9;

/// The verdicts whose changes are sentences.
const SAID: [Verdict; 4] = [
    Verdict::Worse,
    Verdict::Missing,
    Verdict::Better,
    Verdict::Changed,
];

/// The comparison for people, at most `width` columns wide where a width is given: what changed, a
/// sentence each; tables of the other changes; what else differs; last the
/// answer in a sentence, and the number of each verdict.
pub fn comparison_text(comparison: &Comparison, width: Option<u16>) -> String {
    let columns = width.map_or(usize::MAX, usize::from);
    let line = |mark: &str, words: &str| paragraph(mark, &one_line(words), columns);
    // Sentences with their marks, and an empty line where there are any.
    let block = |said: &mut dyn Iterator<Item = (&str, String)>| {
        let said: String = said.map(|(mark, words)| line(mark, &words)).collect();
        match said.is_empty() {
            true => said,
            false => said + "\n",
        }
    };
    let label = |words: &str| format!("{words:<LABEL$}");
    let verdict = |verdict: Verdict| label(verdict.name());
    let (old, new) = &comparison.names;
    let mut text = line("", &format!("{old} → {new}")) + "\n";
    text += &block(&mut refusals(comparison).into_iter().map(|words| ("", words)));
    let together = moved_together(comparison).into_iter();
    let together = together.map(|(found, words)| (verdict(found), words));
    let changed = in_order(comparison)
        .into_iter()
        .filter(|(_, change)| SAID.contains(&change.verdict) && !comparison.moves_with_all(change));
    let changed = changed.map(|(cell, change)| (verdict(change.verdict), sentence(cell, change)));
    for said in [together.collect::<Vec<_>>(), changed.collect()] {
        text += &block(&mut said.iter().map(|(mark, words)| (&**mark, words.clone())));
    }
    let is_of = |verdict: Verdict| move |change: &Change| change.verdict == verdict;
    let with_all =
        |change: &Change| change.verdict.is_change() && comparison.moves_with_all(change);
    let all = comparison_lines(comparison);
    let of = |heading: &str, is_wanted: &dyn Fn(&Change) -> bool| {
        let is_wanted = in_order(comparison)
            .into_iter()
            .map(|(_, change)| is_wanted(change));
        section(heading, is_wanted, &all, width)
    };
    text += &of("changed as most cells did", &with_all);
    for (heading, verdict) in [
        ("cannot tell", Verdict::CannotTell),
        ("the same", Verdict::Same),
        ("not comparable", Verdict::NotComparable),
    ] {
        text += &of(heading, &is_of(verdict));
    }
    let remarks = comparison_remarks(comparison).into_iter();
    let remarks = remarks.chain(comparison_unmatched(comparison));
    text += &block(&mut remarks.map(|words| ("- ", words)));
    text + &line("", &comparison_method(comparison))
        + "\n"
        + &line("", &comparison_headline(comparison))
        + &line("", &comparison_tally(comparison))
}

/// `1024 · UDP: Throughput falls from 4600 to 3680 Mbit/s, by -20.0 % [-20.4, -19.6]`.
fn sentence(cell: &ComparedCell, change: &Change) -> String {
    let what = format!("{}: {}", cell.name(), change.metric.title);
    let unit = change.metric.unit;
    let median = |value: Option<f64>| value.map_or("no value".to_owned(), number::plain);
    let (old, new) = (median(change.medians.0), median(change.medians.1));
    let Some(shift) = &change.shift else {
        let runs = counted(change.runs.0, "old run");
        return format!("{what} was {old} {unit} in {runs}, and no new run has a value");
    };
    let value = shift.change().value;
    let how = match value < 0.0 {
        true => "falls",
        false => "rises",
    };
    // The middle of the changes of runs may go the other way than the medians.
    let medians = change.medians.1.zip(change.medians.0);
    let other_way = medians.is_some_and(|(new, old)| (new - old) * value < 0.0);
    let caveat = by_speed(change.by_speed_pct);
    if other_way {
        return format!(
            "{what} {how} from run to run by {}, though the medians are {old} and {new} {unit}{caveat}",
            shown(change)
        );
    }
    format!(
        "{what} {how} from {old} to {new} {unit}: {}{caveat}",
        shown(change)
    )
}

/// A heading and the table of the lines that are wanted; empty where there are none.
fn section(
    heading: &str,
    is_wanted: impl Iterator<Item = bool>,
    all: &Lines,
    width: Option<u16>,
) -> String {
    let without_verdict = |row: &Vec<String>| row[..row.len() - 1].to_vec();
    let rows = all.rows.iter().zip(is_wanted);
    let lines = Lines {
        header: without_verdict(&all.header),
        rows: rows
            .filter(|(_, is_wanted)| *is_wanted)
            .map(|((is_marked, row), _)| (*is_marked, without_verdict(row)))
            .collect(),
    };
    if lines.rows.is_empty() {
        return String::new();
    }
    let mut text = format!("{heading}\n\n");
    for line in grid(&lines, width).lines() {
        text += &format!("{}\n", line.trim_end());
    }
    text + "\n"
}

/// Words from other people's logs on one line.
fn one_line(words: &str) -> String {
    words.replace(char::is_control, "\u{fffd}")
}

/// The table; if it is too narrow, without the number of runs on each side.
fn grid(table: &Lines, width: Option<u16>) -> Grid {
    let mut whole = plain_grid(table, &[]);
    match width {
        Some(width) if !fit(&mut whole, width) => {
            let mut narrow = plain_grid(table, &[RUNS]);
            fit(&mut narrow, width);
            narrow
        }
        _ => whole,
    }
}

/// The table without the columns that are left out.
fn plain_grid(table: &Lines, left_out: &[&str]) -> Grid {
    let is_kept = |place: &usize| !left_out.contains(&table.header[*place].as_str());
    let kept: Vec<usize> = (0..table.header.len()).filter(is_kept).collect();
    let words = |row: &[String]| {
        kept.iter()
            .map(|place| one_line(&row[*place]))
            .collect::<Vec<_>>()
    };
    let mut grid = Grid::new();
    grid.load_preset(presets::ASCII_MARKDOWN)
        .set_header(words(&table.header));
    table.rows.iter().for_each(|(_, row)| {
        grid.add_row(words(row));
    });
    for column in grid.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    grid
}
