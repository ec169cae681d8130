//! What of a study names factors and levels: tables, comparison, answer, pictures, expected figures and checks.

use bitcost_model::study::Label;

use super::checks::checks;
use super::sentence::sentences;
use crate::definition::{Compared, Expect, ExpectedCell, Factor, Study, TableSpec};
use crate::forms::Number;
use crate::picture::{Picture, PictureKind};
use crate::tables::{CompareTable, ExpectTable, ReportTable, TableTable};
use crate::toml::Node;

/// Reads it into a study whose factors are known.
pub fn shown(top: &Node, study: &mut Study) {
    study.compare = top.get("compare").and_then(|node| compared(&node));
    let report = top.get("report");
    report.as_ref().and_then(Node::read::<ReportTable>);
    if let Some(table) = self::table(top, &study.factors) {
        study.table = table;
    }
    study.sentences = sentences(top, study);
    study.pictures = report.and_then(|report| {
        let pictures = report.get("pictures")?;
        match pictures.is_list() {
            true => Some(pictures.elements().iter().filter_map(picture).collect()),
            false => pictures.not_allowed("a list of pictures"),
        }
    });
    study.expect = top
        .get("expect")
        .and_then(|node| expect(&node, &study.factors));
    study.checks = checks(top);
}

/// Two levels of a factor that differ.
fn compared(node: &Node) -> Option<Compared> {
    let table: CompareTable = node.read()?;
    let factor = node.at("factor").factor(&table.factor.0)?;
    let (old, new) = (table.old.0, table.new.0);
    for (key, label) in [("old", &old), ("new", &new)] {
        node.at(key).level(factor, label)?;
    }
    if old == new {
        return node.at("new").error(format!(
            "`old` and `new` are both {new}; allowed: two levels that differ"
        ));
    }
    Some(Compared {
        factor: table.factor.0,
        old,
        new,
    })
}

fn table(top: &Node, factors: &[Factor]) -> Option<TableSpec> {
    let first = factors[0].name.clone();
    let Some(node) = top.get("table") else {
        return Some(TableSpec {
            rows: first,
            columns: factors.get(1).map(|factor| factor.name.clone()),
            ..TableSpec::default()
        });
    };
    let table: TableTable = node.read()?;
    let rows = table.rows.map_or(first, |rows| rows.0);
    let columns = table.columns.map(|columns| columns.0);
    if columns.as_ref() == Some(&rows) {
        return node.at("columns").error(format!(
            "factor `{rows}` is in the rows already; allowed: another factor, or no columns"
        ));
    }
    Some(TableSpec {
        rows,
        columns,
        metrics: table.metrics,
        improvement: node.get("improvement").and_then(|node| compared(&node)),
    })
}

fn picture(node: &Node) -> Option<Picture> {
    if node.text().is_some() {
        return node.read::<PictureKind>().map(Picture::plain);
    }
    if node.table().is_none() {
        return node.not_allowed(
            "a kind, or a table such as { kind = \"curve\", metrics = [\"throughput_mbps\"] }",
        );
    }
    let picture: Picture = node.read_right()?;
    let keys = picture.kind.keys();
    let is_other = |entry: &&Node| entry.key != "kind" && !keys.contains(&entry.key);
    if let Some(other) = node.entries().iter().find(is_other) {
        return other.unknown(node, keys);
    }
    let mut named = picture.of.iter();
    match named.find(|(_, labels)| labels.is_empty()) {
        Some((name, _)) => node.at("of").at(name).not_allowed("levels"),
        None => Some(picture),
    }
}

fn expect(node: &Node, factors: &[Factor]) -> Option<Expect> {
    let table: Option<ExpectTable> = node.read();
    let figures = |key: &str| {
        let cells = node.each(key);
        let cells = cells.iter().filter_map(|cell| expected_cell(cell, factors));
        cells.collect::<Vec<_>>()
    };
    let (cells, improvements) = (figures("cell"), figures("improvement"));
    Some(Expect {
        source: table?.source,
        cells,
        improvements,
    })
}

/// Keys that name a factor give its level; every other key is a metric.
fn expected_cell(node: &Node, factors: &[Factor]) -> Option<ExpectedCell> {
    let mut cell = ExpectedCell {
        levels: Vec::new(),
        figures: Vec::new(),
    };
    for entry in node.entries() {
        let key = entry.key.to_owned();
        if let Some(factor) = factors.iter().find(|factor| factor.name == key) {
            let label = entry.label().unwrap_or_else(|| Label::Text(entry.shown()));
            entry.level(factor, &label)?;
            cell.levels.push((key, label));
        } else {
            entry.metric(&key)?;
            cell.figures.push((key, entry.read::<Number>()?.0));
        }
    }
    Some(cell)
}
