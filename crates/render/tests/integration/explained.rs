//! Explanations as text and as JSON: of the paper's own tables, and of cells that are known.

use crate::common::*;
use bitcost_analysis::explain::{ExplainedCell, Explanation, LIMITERS, Warning};
use bitcost_render::explained::{
    cell_text, explanation_folded, explanation_json, explanation_lines, explanation_text,
};
use bitcost_testkit::assert_says;

/// Messages of these sizes with the throughput that the paper has for them.
const SWEEP: [(i64, f64); 14] = [
    (1, 5.56),
    (2, 11.04),
    (3, 16.60),
    (4, 21.95),
    (16, 87.06),
    (32, 178.26),
    (64, 354.48),
    (128, 691.31),
    (256, 1351.93),
    (512, 2555.18),
    (1024, 4782.00),
    (2048, 8327.85),
    (4096, 12937.09),
    (8192, 18356.68),
];

fn datagrams(bytes: i64, figures: &[(&str, f64)]) -> Run {
    run_of_iperf3(&[size(bytes)], figures)
}

fn explained(runs: Vec<Run>) -> Explanation {
    findings(&imported(runs, "x")).explanation
}

#[test]
fn lines_are_folded_to_the_words_after_their_marks() {
    let runs = SWEEP.map(|(size, mbps)| datagrams(size, &[("send_throughput_mbps", mbps)]));
    let text = explanation_text(&explained(runs.to_vec()), true);
    let folded = explanation_folded(&text, 60);
    assert!(text.lines().any(|line| line.chars().count() > 80), "{text}");
    assert!(folded.lines().all(|line| line.chars().count() <= 60));
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(&folded), words(&text));
    let remedy = folded.split_once("  remedy: ").expect("a remedy").1;
    let second = remedy.lines().nth(1).expect("it is long");
    assert!(second.starts_with(&" ".repeat("  remedy: ".len())));
}

#[test]
fn two_sizes_give_no_cost_model() {
    let runs = [SWEEP[0], SWEEP[13]]
        .map(|(size, mbps)| datagrams(size, &[("send_throughput_mbps", mbps)]));
    let found = explained(runs.to_vec());
    assert!(found.costs.is_empty());
}

#[test]
fn cells_of_which_the_same_is_said_have_one_line() {
    let run =
        |size: i64, peak: f64| datagrams(size, &[("sender_peak_cpu_pct", peak), ("loss_pct", 0.0)]);
    let found = explained(vec![run(64, 99.9), run(1024, 100.0)]);
    let line = "64; 1024: sender's CPU (1 run, likely)";
    assert_eq!(explanation_lines(&found), [line]);
    let text = explanation_text(&found, true);
    assert_says(
        &text,
        &[
            "64: sender's CPU (1 run, likely)",
            "  evidence: sender_peak_cpu_pct 99.9 % (threshold: at least 99.5 %)",
            "  run 1: sender's CPU",
        ],
    );
    let many: Vec<_> = (1..=7).map(|size| run(size, 100.0)).collect();
    let lines = explanation_lines(&explained(many));
    assert!(lines[0].contains("; … 7 (7 cells): sender's CPU"));
}

#[test]
fn a_warning_is_a_line_and_names_its_cells() {
    let warning = |cells: &[&str]| Warning {
        name: "few_runs",
        weight: 0.5,
        cells: cells.iter().map(|cell| (*cell).to_owned()).collect(),
        found: "2 runs".into(),
        remedy: "make more",
        headline: None,
    };
    let found = Explanation {
        warnings: vec![warning(&[]), warning(&["a", "b"])],
        ..explained(vec![datagrams(64, &[])])
    };
    let text = explanation_text(&found, false);
    assert_says(
        &text,
        &["\nwarning: 2 runs; make more\nwarning: a; b: 2 runs; make more\n"],
    );
    assert_eq!(explanation_json(&found)["warnings"][1]["cells"][1], "b");
}

#[test]
fn limiters_with_the_same_share_are_no_verdict() {
    let cell = |names: [&'static str; 3]| {
        let runs = explained(vec![datagrams(64, &[])]).cells.remove(0).runs;
        let run = |name: &str| {
            let mut run = runs[0].clone();
            let limiter = LIMITERS.iter().find(|row| row.name == name);
            run.verdict.chosen.limiter = limiter.expect("a limiter").limiter();
            run
        };
        ExplainedCell::new("a".to_owned(), names.iter().map(|name| run(name)).collect())
    };
    let tied = cell(["receiver_cpu", "sender_cpu", "unknown"]);
    let words = tied.limiter_words().expect("runs");
    assert!(
        words.starts_with("mixed: ")
            && words.contains("receiver's CPU")
            && words.contains("sender's CPU")
            && !words.contains("unknown"),
        "{words}"
    );
    let text = cell_text(&tied.name, &tied);
    assert!(text.contains(&words), "{text}");
    let clear = cell(["sender_cpu", "sender_cpu", "unknown"]);
    assert_eq!(clear.limiter_words().as_deref(), Some("sender's CPU"));
}
