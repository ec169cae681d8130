//! Executions and tables as JSON. Absent values have no key.

use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value as Entry};
use serde_json::{Value, json};

use crate::document::Document;
use crate::export::{ExportError, Form, Input, RowSupport};
use crate::json_parts::without_null;

/// `--format json`.
pub(crate) const FORM: Form = Form {
    rows: RowSupport::Optional,
    holds_caveats: true,
    ..Form::new("json", "JSON", export)
};

fn export(input: &Input) -> Result<String, ExportError> {
    if let Some(rows) = input.rows {
        return Ok(format!("{:#}\n", table_json(&rows.table(input.executions))));
    }
    let document = |findings: &Findings| {
        let mut document = json(findings);
        if input.samples {
            document["records"] = records(findings);
        }
        document
    };
    let mut documents: Vec<Value> = input.executions.iter().map(document).collect();
    let all = match documents.len() {
        1 => documents.remove(0),
        _ => Value::Array(documents),
    };
    Ok(format!("{all:#}\n"))
}

/// The raw records of every shown run, with all samples.
fn records(findings: &Findings) -> Value {
    let shown: Vec<u32> = findings.shown_runs().map(|row| row.run).collect();
    let mut found = Vec::new();
    findings.each_run(|row| shown.contains(&row.run), &mut |row, _, view| {
        let (run, sender, receiver) = (row.run, view.sender, view.receiver);
        found.push(json!({ "run": run, "sender": sender, "receiver": receiver }));
    });
    Value::Array(found)
}

/// The document of an execution, in which absent values have no key.
pub fn json(findings: &Findings) -> Value {
    without_null(serde_json::to_value(Document::of(findings)).unwrap_or_default())
}

/// A table as a list of JSON objects; absent values have no key.
pub fn table_json(table: &Table) -> Value {
    let row = |row: &Vec<Entry>| {
        let entries = table.columns.iter().zip(row);
        let known = entries.filter_map(|(name, value)| Some((name.clone(), entry_json(value)?)));
        Value::Object(known.collect())
    };
    table.rows.iter().map(row).collect()
}

fn entry_json(value: &Entry) -> Option<Value> {
    match value {
        Entry::Absent => None,
        Entry::Whole(number) => Some(json!(number)),
        Entry::Number(number) => Some(json!(number)),
        Entry::Text(text) => Some(json!(text)),
    }
}
