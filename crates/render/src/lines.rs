//! The words of a table, without their layout.

use comfy_table::{CellAlignment, Table, presets};

use crate::column_width::fit;

/// The words of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The headings of the columns; the first one names the factor that goes down.
    pub header: Vec<String>,
    /// Each row, and whether it is the author's.
    pub rows: Vec<(bool, Vec<String>)>,
}

impl Lines {
    /// A table with no row of the author's.
    pub(crate) fn new<H: Into<String>>(
        header: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Lines {
        Lines {
            header: header.into_iter().map(Into::into).collect(),
            rows: rows.into_iter().map(|row| (false, row)).collect(),
        }
    }

    /// The table as text, at most this wide, in columns.
    pub(crate) fn text(&self, width: u16) -> String {
        let table = self.table(width).to_string();
        let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
        lines.collect()
    }

    /// The table for a terminal, at most this wide, in columns.
    pub(crate) fn table(&self, width: u16) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        table.set_header(&self.header);
        for (_, line) in &self.rows {
            table.add_row(line);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        fit(&mut table, width);
        table
    }
}
