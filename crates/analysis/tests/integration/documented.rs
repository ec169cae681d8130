//! The pages of the method have every metric.

use bitcost_analysis::metrics::METRICS;

fn page(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The metrics that the rows of the table with this heading name between backticks in their first cells.
fn named(page: &str, heading: &str) -> Vec<String> {
    let (_, rows) = page.split_once(heading).expect("the table");
    let rows = rows.lines().skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned))
        .collect()
}

#[test]
fn every_metric_has_its_scope_and_error_once() {
    let metrics = page("docs/method/metrics.md");
    let mut names = named(&metrics, "| name | scope | what it takes | error |");
    names.sort();
    let mut expected: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
}
