//! The page of the keys of study files: a section for each table, a row for each key.

use bitcost_study::tables::{
    AnswerTable, CheckTable, ClaimTable, CompareTable, ExpectTable, FactorTable, LabTable,
    LengthTable, LinkTable, MeshTable, ReportTable, RunTable, StudyTable, TableTable,
};
use bitcost_study::topology::ShapingTable;
use bitcost_study::{Picture, schema_of as table};
use serde_json::Value;

pub fn page() -> String {
    let mut text = String::from(
        "# Keys of study files and lab files\n\n\
         A study is a TOML file: `bitcost studies new` prints one with comments, `bitcost plan FILE` reports every mistake in it, and an editor completes it by `bitcost studies schema study`. \
         Keys in bold are required. The settings of `[workload]` and of levels \
         are in [settings](settings.md), the metrics in [metrics](metrics.md).\n",
    );
    let all = [
        table::<StudyTable>(),
        table::<MeshTable>(),
        table::<FactorTable>(),
        table::<RunTable>(),
        table::<LengthTable>(),
        table::<TableTable>(),
        table::<CompareTable>(),
        table::<AnswerTable>(),
        table::<ReportTable>(),
        table::<Picture>(),
        table::<CheckTable>(),
        table::<ClaimTable>(),
        table::<ExpectTable>(),
        table::<LabTable>(),
        table::<LinkTable>(),
        table::<ShapingTable>(),
    ];
    for table in &all {
        text += &format!(
            "\n## {}\n\n{}\n\n| key | value | what it means |\n|---|---|---|\n",
            link(table),
            word(table, "description")
        );
        for [key, value, about] in rows(table) {
            text += &format!("| {key} | {value} | {about} |\n");
        }
    }
    text
}

/// The cells of each key's row; those that are required come first.
fn rows(table: &Value) -> Vec<[String; 3]> {
    let required = table["required"].as_array().cloned().unwrap_or_default();
    let keys = table["properties"].as_object().into_iter().flatten();
    let row = |(name, schema): (&String, &Value)| {
        let name = match required.contains(&Value::from(name.as_str())) {
            true => format!("**`{name}`**"),
            false => format!("`{name}`"),
        };
        [
            name,
            allowed(schema),
            word(schema, "description").to_owned(),
        ]
        .map(|cell| cell.replace('|', "\\|"))
    };
    let mut rows: Vec<[String; 3]> = keys.map(row).collect();
    rows.sort_by_key(|[name, ..]| !name.starts_with('*'));
    rows
}

fn word<'a>(schema: &'a Value, key: &str) -> &'a str {
    schema[key].as_str().unwrap_or_default()
}

/// A table's title in Markdown, in which brackets are code, so that they are no link.
fn link(table: &Value) -> String {
    let code = |word: &str| match word.starts_with('[') {
        true => format!("`{word}`"),
        false => word.to_owned(),
    };
    let words: Vec<String> = word(table, "title").split(' ').map(code).collect();
    words.join(" ")
}

/// The words of which the value is one, where it is.
fn words(schema: &Value) -> Option<Vec<String>> {
    let quoted = |words: &[Value]| words.iter().map(Value::to_string).collect();
    let one_of = || {
        let any = schema["oneOf"].as_array()?.iter().map(words);
        Some(any.collect::<Option<Vec<_>>>()?.concat())
    };
    let listed = schema["enum"].as_array().map(Vec::as_slice);
    let listed = listed.or(schema.get("const").map(std::slice::from_ref));
    listed.map(quoted).or_else(one_of)
}

/// The allowed values, in words.
fn allowed(schema: &Value) -> String {
    let any = schema["allOf"].as_array().or(schema["anyOf"].as_array());
    if let Some(allowed) = schema["x-allowed"].as_str() {
        return allowed.to_owned();
    }
    if let Some(words) = words(schema) {
        return words.join(" or ");
    }
    match (schema["title"].as_str(), any.map(Vec::as_slice)) {
        (Some(_), _) => format!("a table: {}", link(schema)),
        (_, Some([one])) => allowed(one),
        (_, Some([one, list])) if list["items"] == *one => format!("{}, or a list", allowed(one)),
        (_, Some(any)) => any.iter().map(allowed).collect::<Vec<_>>().join(", or "),
        _ => match (word(schema, "type"), &schema["items"]) {
            ("array", names) if names["type"] == "string" && names.get("x-allowed").is_none() => {
                "a list of names".to_owned()
            }
            ("array", tables) if tables["title"].is_string() => format!("tables: {}", link(tables)),
            ("array", one) => match schema["maxItems"].as_u64() {
                Some(2) => format!("a list of two, each {}", allowed(one)),
                _ => format!("a list, each {}", allowed(one)),
            },
            ("object", _) => match allowed(&schema["additionalProperties"]).as_str() {
                "a level" => "`{ factor = level, … }`".to_owned(),
                value => format!("a table, each value {value}"),
            },
            ("boolean", _) => "true or false".to_owned(),
            ("string", _) => "text".to_owned(),
            _ => "a value".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_key_has_what_is_allowed_and_a_sentence() {
        let page = super::page();
        let is_row = |row: &&str| row.contains("`** |") || row.starts_with("| `");
        for row in page.lines().filter(is_row) {
            let is_whole = row.ends_with(". |") || row.ends_with("| |");
            assert!(is_whole && !row.contains("a value |"), "{row}");
        }
    }
}
