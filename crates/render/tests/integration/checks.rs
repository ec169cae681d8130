//! A document's statements on made-up runs: which pass, which fail, and which cannot be decided.

use crate::common::{Made, STUDY, ended, is, json, log, plain, text};
use bitcost_model::study::Cell;
use serde_json::Value;

/// The study with one statement, which has one claim or more.
fn stating(claims: &[&str]) -> String {
    let claims: String = claims
        .iter()
        .map(|lines| format!("[[check.claim]]\n{lines}\n"))
        .collect();
    format!("{STUDY}[[check]]\nstatement = \"A statement\"\n{claims}")
}

/// Runs that are twice as fast at 8192 bytes, in each of 5 blocks.
fn checks(claims: &[&str]) -> Value {
    json(&log(&stating(claims), 5, |cell, run| {
        ended(cell, &plain(cell, run))
    }))["checks"][0]
        .clone()
}

const RATIO: &str = "metric = \"throughput_mbps\"\nratio = [{ message_size_bytes = 8192 }, { message_size_bytes = 1024 }]\n";

#[test]
fn a_figure_within_its_bounds_passes_and_one_outside_fails() {
    for (bounds, verdict) in [
        ("between = [1.5, 2.5]", "pass"),
        ("at_least = 2", "pass"),
        ("at_most = 1.9", "fail"),
        ("between = [2.1, 3]", "fail"),
    ] {
        let check = checks(&[&format!("{RATIO}{bounds}")]);
        assert_eq!(check["verdict"], verdict, "{bounds}: {check}");
        let claims = check["claims"].as_array().unwrap();
        let transports: Vec<&Value> = claims
            .iter()
            .map(|claim| &claim["levels"]["transport"])
            .collect();
        assert_eq!(
            transports,
            ["UDP", "TCP"],
            "once for each level of the factor that it does not name"
        );
        assert_eq!(
            (claims[0]["value"].as_f64(), claims[0]["low"].as_f64()),
            (Some(2.0), Some(2.0)),
            "blocks cancel"
        );
    }
}

#[test]
fn an_interval_over_a_bound_cannot_tell() {
    let claim = "metric = \"throughput_mbps\"\nvalue = { message_size_bytes = 1024, transport = \"UDP\" }\nat_least = 1050";
    let check = checks(&[claim]);
    assert_eq!(
        (&check["verdict"], &check["claims"][0]["verdict"]),
        (&"cannot_tell".into(), &"cannot_tell".into())
    );
    assert_eq!(check["claims"][0]["levels"], serde_json::json!({}));
}

#[test]
fn one_claim_that_fails_decides() {
    let (good, bad) = (
        format!("{RATIO}at_least = 1"),
        format!("{RATIO}at_least = 3"),
    );
    assert_eq!(checks(&[&good, &bad])["verdict"], "fail");
    let unknown = "metric = \"rtt_us\"\nvalue = {}\nat_most = 1";
    assert_eq!(checks(&[&good, unknown])["verdict"], "cannot_tell");
    assert_eq!(checks(&[&bad, unknown])["verdict"], "fail");
}

#[test]
fn a_single_run_cannot_tell() {
    let study = stating(&[&format!("{RATIO}at_least = 1")]);
    let events = log(&study, 1, |cell, run| ended(cell, &plain(cell, run)));
    let check = &json(&events)["checks"][0];
    assert_eq!(check["verdict"], "cannot_tell");
    assert_eq!(
        (
            check["claims"][0]["value"].as_f64(),
            check["claims"][0].get("low")
        ),
        (Some(2.0), None)
    );
    assert!(text(&events).contains("(too few: 1 run)"));
}

#[test]
fn two_runs_of_a_cell_have_an_interval_and_cannot_tell() {
    let study = stating(&[&format!("{RATIO}at_least = 1")]);
    let events = log(&study, 2, |cell, run| ended(cell, &plain(cell, run)));
    let check = &json(&events)["checks"][0];
    let claim = &check["claims"][0];
    assert_eq!(
        (&check["verdict"], &claim["runs"]),
        (&"cannot_tell".into(), &2.into())
    );
    assert_eq!(claim["low"].as_f64(), Some(2.0));
    assert!(text(&events).contains("(too few: 2 runs)"));
}

#[test]
fn a_cell_without_runs_cannot_tell() {
    let study = stating(&[&format!("{RATIO}at_least = 1")]);
    let has_runs =
        |cell: &Cell| !(is(cell, "message_size_bytes", "8192") && is(cell, "transport", "TCP"));
    let make = |cell: &Cell, run: &_| {
        if has_runs(cell) {
            ended(cell, &plain(cell, run))
        } else {
            Made::Missing
        }
    };
    let events = log(&study, 3, make);
    let check = &json(&events)["checks"][0];
    assert_eq!(check["verdict"], "cannot_tell");
    assert_eq!(
        (
            &check["claims"][0]["verdict"],
            check["claims"][1].get("value")
        ),
        (&"pass".into(), None)
    );
    assert!(text(&events).contains("(TCP): no value"));
}

#[test]
fn statements_stand_at_the_end_with_their_figures() {
    let study = stating(&[
        &format!("{RATIO}between = [1.5, 2.5]"),
        "metric = \"throughput_mbps\"\nspread_over = \"message_size_bytes\"\nat = { transport = \"UDP\" }\nat_most = 1.2",
    ]);
    let printed = text(&log(&study, 5, |cell, run| ended(cell, &plain(cell, run))));
    let (_, statements) = printed
        .split_once("Statements of the document, tested on these runs\n")
        .unwrap();
    let lines: Vec<&str> = statements.lines().collect();
    assert_eq!(lines[0], "fail         A statement");
    let words = statements.split_whitespace().collect::<Vec<_>>().join(" ");
    for wanted in [
        "pass: Throughput, 8192 ÷ 1024 (UDP): 2.00 [2.00, 2.00]; expected 1.5 to 2.5",
        "fail: Throughput, largest ÷ smallest from 1024 to 8192, UDP: 2.00 [2.00, 2.00]; expected at most 1.2",
    ] {
        assert!(words.contains(wanted), "{statements}");
    }
}
