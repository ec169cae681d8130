//! `bitcost host bench`: a table for people and a document for programs.

use bitcost_model::constants::CONSTANTS;

use crate::words::bitcost;

#[test]
fn bench_lists_every_constant() {
    let folder = tempfile::tempdir().unwrap();
    let (code, text, stderr) = bitcost(folder.path(), &["host", "bench"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let (code, json, stderr) = bitcost(folder.path(), &["host", "bench", "--json"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    for row in CONSTANTS {
        let title = row
            .title
            .trim_start_matches("the ")
            .trim_start_matches("a ");
        let has = |title: &str| text.contains(title);
        assert!(
            has(title) || has(&title.replace(", which is ", ", ")),
            "{title}: {text}"
        );
        let entry = &document["constants"][row.name];
        assert_eq!(entry["unit"], row.unit);
        let has_figure = entry["median"].as_f64().is_some_and(|median| median > 0.0);
        assert!(
            has_figure != entry["absent"].is_string(),
            "{}: {entry}",
            row.name
        );
    }
}
