//! Fits tables to a width: lines break between words, where there is room for the longest word.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};

/// The width that a column needs in addition to its words: a space on both sides, and a line.
const PADDING: usize = 3;

/// Makes a table fit a width and returns true. No column gets narrower than its longest word. If
/// the columns are too wide together even so, words are broken, and the result is false.
pub(crate) fn fit(table: &mut Table, width: u16) -> bool {
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    let longest = longest_words(table);
    if longest.iter().map(|length| length + PADDING).sum::<usize>() + 1 > usize::from(width) {
        return false;
    }
    for (column, length) in table.column_iter_mut().zip(longest) {
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(
            (length + PADDING - 1) as u16,
        )));
    }
    true
}

/// Characters of the longest word of each column.
fn longest_words(table: &mut Table) -> Vec<usize> {
    let mut longest = vec![0; table.column_count()];
    for row in table.header().into_iter().chain(table.row_iter()) {
        for (most, cell) in longest.iter_mut().zip(row.cell_iter()) {
            let content = cell.content();
            let words = content.split_whitespace().map(|word| word.chars().count());
            *most = words.chain([*most]).max().unwrap_or(0);
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_where_there_is_room_for_them() {
        let table = |width| {
            let mut table = Table::new();
            table
                .load_preset(comfy_table::presets::ASCII_MARKDOWN)
                .set_header(["message_size_bytes", "UDP"]);
            table.add_row(["1024", "10638 [10500, 10800] of many more words than fit"]);
            (fit(&mut table, width), table.to_string())
        };
        let (whole, lines) = table(32);
        assert!(
            whole
                && lines.contains("| message_size_bytes |")
                && lines.lines().all(|line| line.len() <= 32),
            "{lines}"
        );
        let (whole, lines) = table(24);
        assert!(
            !whole && lines.lines().all(|line| line.len() <= 24),
            "too narrow for the words: {lines}"
        );
    }
}
