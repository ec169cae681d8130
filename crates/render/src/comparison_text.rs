//! A comparison as text: a table of all changes, the worst first, what else differs, and the answer in a
//! sentence.

use bitcost_analysis::compare::Comparison;
use comfy_table::{CellAlignment, Table as Grid, presets};

use crate::column_width::fit;
use crate::comparison::{
    BLOCKS, MEDIANS, comparison_lines, comparison_method, comparison_remarks, comparison_tally,
    comparison_unmatched, refusals,
};
use crate::comparison_headline::comparison_headline;
use crate::layout::paragraph;
use crate::lines::Lines;

/// The comparison for people, at most `width` columns wide where a width is given.
pub fn comparison_text(comparison: &Comparison, width: Option<u16>) -> String {
    let columns = width.map_or(usize::MAX, usize::from);
    let line = |mark: &str, words: &str| paragraph(mark, &one_line(words), columns);
    // Sentences with their mark, and an empty line where there are any.
    let block = |mark: &str, sentences: Vec<String>| {
        let lines: String = sentences.iter().map(|words| line(mark, words)).collect();
        match lines.is_empty() {
            true => lines,
            false => lines + "\n",
        }
    };
    let (old, new) = &comparison.names;
    let mut text = line("", &format!("{old} → {new}")) + "\n";
    text += &block("", refusals(comparison));
    let lines = comparison_lines(comparison);
    if !lines.rows.is_empty() {
        for row in grid(&lines, width).lines() {
            text += &format!("{}\n", row.trim_end());
        }
        text += "\n";
    }
    let mut remarks = comparison_remarks(comparison);
    remarks.extend(comparison_unmatched(comparison));
    text += &block("- ", remarks);
    text + &line("", &comparison_method(comparison))
        + "\n"
        + &line("", &comparison_headline(comparison))
        + &line("", &comparison_tally(comparison))
}

/// Words from other people's logs on one line.
fn one_line(words: &str) -> String {
    words.replace(char::is_control, "\u{fffd}")
}

/// The table; if it is too narrow, without the blocks of each side, then without the medians.
fn grid(table: &Lines, width: Option<u16>) -> Grid {
    let left_out: [&[&str]; 3] = [&[], &[BLOCKS], &[BLOCKS, MEDIANS[0], MEDIANS[1]]];
    let mut narrow = Grid::new();
    for left_out in left_out {
        narrow = plain_grid(table, left_out);
        if width.is_none_or(|width| fit(&mut narrow, width)) {
            break;
        }
    }
    narrow
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
    let figures = 2..kept.len().saturating_sub(1);
    for column in figures {
        if let Some(column) = grid.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    grid
}
