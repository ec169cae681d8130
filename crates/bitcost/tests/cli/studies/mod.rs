//! Studies as files: new ones, and all their mistakes at once.

use std::path::Path;

use bitcost_testkit::assert_says;

use crate::words::{Said, bitcost};

fn printed((code, stdout, stderr): Said) -> String {
    assert_eq!(code, Some(0), "{stderr}");
    stdout
}

fn said((code, stdout, stderr): Said) -> String {
    assert_eq!(code, Some(2), "{stdout}");
    stderr
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn the_schema_allows_each_study_and_no_misspelt_key() {
    let here = Path::new(".");
    let schema = printed(bitcost(here, &["studies", "schema", "study"]));
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let value = |text: &str| -> serde_json::Value { toml_edit::de::from_str(text).expect("TOML") };
    let list = printed(bitcost(here, &["studies"]));
    let names = list.lines().filter(|line| !line.starts_with(' '));
    let mut texts: Vec<String> = names
        .map(|name| printed(bitcost(here, &["studies", name])))
        .collect();
    texts.push(printed(bitcost(here, &["studies", "new"])));
    for text in &texts {
        let study = value(text);
        let mistakes = schema.iter_errors(&study);
        let mistakes: Vec<String> = mistakes
            .map(|mistake| format!("{}: {mistake}", mistake.instance_path()))
            .collect();
        assert_eq!(mistakes, [""; 0], "{text}");
        assert!(!schema.is_valid(&value(&text.replacen("\nquestion", "\nqestion", 1))));
        assert!(!schema.is_valid(&value(&text.replacen("\n[run]", "\n[rum]", 1))));
    }
}

#[test]
fn a_printed_study_is_planned_as_it_is() {
    let folder = folder();
    let text = printed(bitcost(folder.path(), &["studies", "new"]));
    std::fs::write(folder.path().join("mine.toml"), text).expect("written");
    let plan = printed(bitcost(folder.path(), &["plan", "mine.toml"]));
    assert!(plan.contains("6 cells in 5 blocks"), "{plan}");
}

#[test]
fn plan_refuses_what_run_refuses_with_every_place() {
    let folder = folder();
    let path = folder.path();
    let text = "title = \"t\"\nquestion = \"q\"\n[[factor]]\nname = \"kind\"\nlevels = [\n  { label = \"a\" },\n  { label = \"b\", mtu_bytes = 9000 },\n  { label = \"c\", emulator_queue_limit = \"9 packets\" },\n  { label = \"d\", sender_cpus = \"65000\" },\n]\n";
    std::fs::write(path.join("own.toml"), text).expect("a file");
    let plan = said(bitcost(path, &["plan", "own.toml"]));
    let run = said(bitcost(path, &["run", "own.toml"]));
    for says in [
        "own.toml:7:3: cell b: an interface's MTU of 9000 bytes",
        "own.toml:8:3: cell c: emulator_queue_limit has no effect",
        "own.toml:9:3: cell d: sender_cpus: CPU 65000 does not exist",
    ] {
        assert!(plan.contains(says), "{plan}");
        assert!(run.contains(says), "{run}");
    }
    assert!(!path.join("bitcost-runs").exists());
}

#[test]
fn a_lab_file_is_found_next_to_its_study() {
    let folder = folder();
    let path = folder.path();
    std::fs::create_dir(path.join("in")).expect("a folder");
    let study = "title = \"t\"\nquestion = \"q\"\n[lab]\ntopology = \"lab.toml\"\n[workload]\nworkload = \"TCP\"\n";
    std::fs::write(path.join("in/own.toml"), study).expect("a file");
    let missing = said(bitcost(path, &["plan", "in/own.toml"]));
    assert_says(
        &missing,
        &["in/own.toml:4:1: cannot read the lab in/lab.toml"],
    );
    let lab = "hosts = [\"a\", \"b\"]\n[[link]]\nends = [\"a\", \"b\"]\n";
    std::fs::write(path.join("in/lab.toml"), lab).expect("a file");
    printed(bitcost(path, &["plan", "in/own.toml"]));
}
