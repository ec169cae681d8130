//! A table as comma-separated values (RFC 4180), safe to open in a spreadsheet.

use bitcost_analysis::frame::{RunRows, Value, intervals_table};
use bitcost_model::shown;

use crate::export::{Form, Rows};

pub(crate) const FORM: Form = Form {
    name: "csv",
    help: "Comma-separated values: one row per run, or with --rows per second or 100 ms of a run",
    holds_caveats: false,
    export: |input| match input.rows {
        Rows::Seconds | Rows::Intervals => {
            let is_by_second = input.rows == Rows::Seconds;
            let table = intervals_table(input.executions, is_by_second);
            Ok(csv(&table.columns, &table.rows))
        }
        Rows::Runs => {
            let rows = RunRows::new(input.executions);
            Ok(csv(&rows.columns, rows.iter()))
        }
    },
};

/// First characters of words that a spreadsheet takes for a formula (OWASP, "CSV Injection").
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// The rows with their header. An absent value is an empty field. Words that a spreadsheet would
/// take for a formula get an apostrophe in front, which spreadsheets do not show.
pub fn csv(columns: &[String], rows: impl IntoIterator<Item: AsRef<[Value]>>) -> String {
    let entry = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => field(text),
        // Numbers that are not whole by their kind have a decimal point, so that readers that guess a column's type from
        // its first rows guess a floating-point type.
        number => number.to_string(),
    };
    let header: Vec<String> = columns.iter().map(|name| field(name)).collect();
    let mut text = header.join(",") + "\n";
    for row in rows {
        let entries: Vec<String> = row.as_ref().iter().map(entry).collect();
        text += &entries.join(",");
        text.push('\n');
    }
    text
}

/// Words keep their line ends; characters that would reorder or hide other fields are removed, and
/// those that steer a terminal are replaced.
fn field(words: &str) -> String {
    let words: String = words
        .chars()
        .filter_map(|letter| match letter {
            '\r' => Some(letter),
            _ => shown(letter),
        })
        .collect();
    let guard = if words.starts_with(FORMULA) { "'" } else { "" };
    if words.contains([',', '"', '\n', '\r', '\'']) || !guard.is_empty() || words.trim() != words {
        return format!("\"{guard}{}\"", words.replace('"', "\"\""));
    }
    words
}

#[cfg(test)]
mod tests {
    use bitcost_analysis::frame::Table;

    use super::*;

    #[test]
    fn words_cannot_leave_their_field_or_become_a_formula() {
        let mut table = Table {
            columns: ["label, \"quoted\"", "n"].map(str::to_owned).to_vec(),
            rows: Vec::new(),
        };
        table.rows.push(vec![
            Value::from("=HYPERLINK(\"http://x\")"),
            Value::from(-1.5),
        ]);
        table
            .rows
            .push(vec![Value::from("two\r\nlines\u{1b}"), Value::Null]);
        table.rows.push(vec![Value::from("x"), Value::from(100.0)]);
        let wanted = "\"label, \"\"quoted\"\"\",n\n\"'=HYPERLINK(\"\"http://x\"\")\",-1.5\n\"two\r\nlines\u{fffd}\",\nx,100.0\n";
        assert_eq!(csv(&table.columns, &table.rows), wanted);
    }
}
