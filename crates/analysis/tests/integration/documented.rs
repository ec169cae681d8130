//! METHOD.md has a row for every metric, and no row for anything else.

use std::collections::BTreeSet;

use bitcost_analysis::metrics::METRICS;

/// The metrics of one row of METHOD.md and its unit.
type Row = (BTreeSet<String>, String);

/// The text between backticks of a cell.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Reads a row. A name such as `…_p90_us` shares the beginning of another name of its row; every
/// metric that fits is taken.
fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let mut found = BTreeSet::new();
    for name in names(cells[0]) {
        match name.strip_prefix('…') {
            None => drop(found.insert(name.to_owned())),
            Some(ending) => {
                let fits = |name: &&str| {
                    let beginning = name.strip_suffix(ending);
                    beginning
                        .is_some_and(|start| names(cells[0]).any(|other| other.starts_with(start)))
                };
                let known = METRICS.iter().map(|metric| metric.name).filter(fits);
                found.extend(known.map(str::to_owned));
            }
        }
    }
    (found, cells[1].to_owned())
}

/// The rows below a heading of a table.
fn table<'a>(method: &'a str, heading: &str) -> impl Iterator<Item = &'a str> {
    let (_, rows) = method.split_once(heading).expect("the table");
    rows.lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .filter(|line| line.starts_with("| `"))
}

#[test]
fn every_metric_is_defined_once_with_its_unit() {
    let method = concat!(env!("CARGO_MANIFEST_DIR"), "/../../METHOD.md");
    let method = std::fs::read_to_string(method).expect("METHOD.md");
    let metrics = table(&method, "| name | unit | scope | formula | error |");
    let calibration = table(&method, "| quantity | definition | scope | error |");
    let mut defined: Vec<String> = Vec::new();
    for (names, unit) in metrics.map(row) {
        for name in names {
            let metric = METRICS.iter().find(|metric| metric.name == name);
            let metric = metric.unwrap_or_else(|| panic!("METHOD.md: {name} is no metric"));
            let is_own = unit.starts_with("as without") || unit.trim_matches('–') == metric.unit;
            assert!(is_own, "METHOD.md: {name} in {unit}, not {:?}", metric.unit);
            defined.push(name);
        }
    }
    defined.extend(calibration.flat_map(|line| row(line).0));
    defined.sort();
    let mut all: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    all.sort_unstable();
    assert_eq!(defined, all);
}
