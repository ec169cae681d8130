//! The pages of the method define every metric, and METHOD.md leads to them.

use std::collections::BTreeSet;

use bitcost_analysis::metrics::METRICS;

/// A file of the repository.
fn page(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The metrics that the table with this heading defines, each with the unit that it has there: the
/// text between backticks of a row's first cell, and its second cell.
fn defined(page: &str, heading: &str) -> Vec<(String, String)> {
    let (_, rows) = page.split_once(heading).expect("the table");
    let mut found = Vec::new();
    for line in rows
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
    {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let names = cells[0].split('`').skip(1).step_by(2);
        for name in names {
            let target = format!("<a id=\"{name}\"></a>");
            assert!(cells[0].contains(&target), "{name} has no {target}");
            found.push((name.to_owned(), cells[1].to_owned()));
        }
    }
    found
}

#[test]
fn every_metric_is_defined_once_with_its_unit() {
    let metrics = page("docs/method/metrics.md");
    let metrics = defined(&metrics, "| name | unit | scope | formula | error |");
    for (name, unit) in &metrics {
        let metric = METRICS.iter().find(|metric| metric.name == name);
        let metric = metric.unwrap_or_else(|| panic!("docs/method/metrics.md: {name} is unknown"));
        let is_own = unit.starts_with("as without") || unit.trim_matches('–') == metric.unit;
        assert!(is_own, "{name} in {unit}, not {:?}", metric.unit);
    }
    let lab = page("docs/method/lab.md");
    let capacity = defined(&lab, "| quantity | definition | scope | error |");
    let mut names = BTreeSet::new();
    for (name, _) in metrics.into_iter().chain(capacity) {
        assert!(names.insert(name.clone()), "{name} is defined twice");
    }
    assert_eq!(names.len(), METRICS.len(), "{names:?}");
    for metric in METRICS {
        let name = metric.name;
        assert!(names.contains(name), "{name} is not defined");
    }
    let index = page("METHOD.md");
    for page in [
        "docs/method/metrics.md",
        "docs/method/lab.md#",
        "docs/reference/metrics.md",
    ] {
        assert!(
            index.contains(&format!("]({page}")),
            "METHOD.md links to {page}"
        );
    }
}
