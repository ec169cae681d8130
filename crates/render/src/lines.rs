//! The words of a table, and the table for a terminal and in Markdown.

use bitcost_model::harmless;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};

use crate::markdown_table::escape;

/// The width that a column needs in addition to its words: a space on both sides.
const PADDING: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

    /// The words of each column, with its heading first.
    fn column(&self, place: usize) -> impl Iterator<Item = &String> {
        let rows = self.rows.iter().map(|(_, row)| row);
        std::iter::once(&self.header)
            .chain(rows)
            .map(move |row| &row[place])
    }

    /// Whether a column has figures, which stand at the right.
    fn has_figures(&self, place: usize) -> bool {
        let is_figure = |words: &String| {
            let words = words.trim_start_matches(['+', '-', '>', '×', '[']);
            words.is_empty() || words.starts_with(|first: char| first.is_ascii_digit())
        };
        place > 0 && self.column(place).skip(1).all(is_figure)
    }

    /// The table as text in columns. Lines break between words to be at most this wide, and within
    /// them where the longest words of all columns have no room.
    pub(crate) fn text(&self, width: u16) -> String {
        let row = |words: &[String]| -> Vec<String> {
            let words = words.iter();
            words
                .map(|words| harmless(words).replace('\n', "\u{fffd}"))
                .collect()
        };
        let mut table = comfy_table::Table::new();
        table
            .load_style(presets::ASCII_MARKDOWN)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width)
            .set_header(row(&self.header))
            .add_rows(self.rows.iter().map(|(_, words)| row(words)));
        let longest = |place: usize| {
            let words = self
                .column(place)
                .flat_map(|words| words.split_whitespace());
            words.map(|word| word.chars().count()).max().unwrap_or(0) + PADDING
        };
        let longest: Vec<usize> = (0..self.header.len()).map(longest).collect();
        let is_wide = longest.iter().map(|length| length + 1).sum::<usize>() < width.into();
        for (place, column) in table.column_iter_mut().enumerate() {
            if self.has_figures(place) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if is_wide {
                let least = Width::Fixed(longest[place] as u16);
                column.set_constraint(ColumnConstraint::LowerBoundary(least));
            }
        }
        let lines = table.to_string();
        let lines = lines.lines().map(|line| format!("{}\n", line.trim_end()));
        lines.collect()
    }

    /// Whether no line of it needs to be broken at this width.
    pub(crate) fn fits(&self, width: u16) -> bool {
        let whole = self.text(u16::MAX);
        let mut lines = whole.lines();
        lines.all(|line| line.chars().count() <= width.into())
    }

    /// The table in Markdown. Words cannot break out of their place in it.
    pub fn markdown(&self) -> String {
        let line = |words: Vec<String>| format!("| {} |\n", words.join(" | "));
        let escaped = |row: &Vec<String>| row.iter().map(|words| escape(words.trim())).collect();
        let side = |place| {
            if self.has_figures(place) {
                "--:"
            } else {
                "---"
            }
            .to_owned()
        };
        let sides = (0..self.header.len()).map(side).collect();
        let rows = self.rows.iter().map(|(_, row)| line(escaped(row)));
        line(escaped(&self.header)) + &line(sides) + &rows.collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_where_there_is_room_for_them_and_mean_themselves() {
        let row = ["1024", "10638 [10500, 10800] of many more words than fit"];
        let lines = Lines::new(
            ["message_size_bytes", "UDP"],
            [row.map(str::to_owned).to_vec()],
        );
        let [whole, narrow] = [32, 24].map(|width| lines.text(width));
        assert!(whole.contains("| message_size_bytes |"), "{whole}");
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max();
        assert!(widest(&whole) <= Some(32) && widest(&narrow) <= Some(24));
        let row = ["x | y\n| <img src=x> [l](u)", "1.69"].map(str::to_owned);
        let table = Lines::new(["a|b", "n"], [row.to_vec()]);
        let wanted =
            "| a\\|b | n |\n| --- | --: |\n| x \\| y \\| &lt;img src=x&gt; [l\\](u) | 1.69 |\n";
        assert_eq!(table.markdown(), wanted);
    }
}
