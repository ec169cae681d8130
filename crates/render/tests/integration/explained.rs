//! Explanations as text and as JSON, of cells that are known.

use bitcost_analysis::explain::{
    Bound, Candidate, Confidence, Evidence, ExplainedCell, ExplainedRun, Explanation, LIMITERS,
    Others, Verdict, Warning,
};
use bitcost_render::block::text;
use bitcost_render::explained::{cell_blocks, explanation_blocks, explanation_lines};
use bitcost_testkit::assert_says;

/// The runs of a cell with these limiters.
fn cell(name: &str, limiters: &[&str]) -> ExplainedCell {
    let evidence = Evidence {
        counter: "sender on a CPU or waiting for one".to_owned(),
        value: 99.9,
        unit: "%",
        bound: Bound::AtLeast(75.0),
    };
    let run = |(limiter, run): (&&str, u32)| {
        let row = LIMITERS.iter().find(|row| row.name == *limiter);
        let limiter = row.expect("a limiter").limiter();
        let verdict = Verdict {
            chosen: Candidate::named(limiter, vec![evidence.clone()]),
            confidence: Confidence::Likely,
            share: 1.0,
            suspects: Vec::new(),
        };
        let others = Others::default();
        ExplainedRun {
            run,
            verdict,
            others,
        }
    };
    ExplainedCell::new(name.to_owned(), limiters.iter().zip(0..).map(run).collect())
}

fn explanation(cells: Vec<ExplainedCell>) -> Explanation {
    Explanation {
        title: "x".to_owned(),
        cells,
        warnings: Vec::new(),
    }
}

#[test]
fn lines_are_folded_to_the_words_after_their_marks() {
    let blocks = explanation_blocks(&explanation(vec![cell("64", &["sender_cpu"])]), true);
    let (text, folded) = (text(&blocks, u16::MAX), text(&blocks, 60));
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
fn cells_of_which_the_same_is_said_have_one_line() {
    let full = |name: &str| cell(name, &["sender_cpu"]);
    let found = explanation(vec![full("64"), full("1024"), cell("2048", &[])]);
    let lines = [
        "64; 1024: sender's CPU (1 run, likely)",
        "2048: no run with counters that say what limited it",
    ];
    assert_eq!(explanation_lines(&found), lines);
    assert_says(
        &text(&explanation_blocks(&found, true), u16::MAX),
        &[
            "64; 1024: sender's CPU (1 run, likely)",
            "  evidence: sender on a CPU or waiting for one 99.9 % (threshold: at least 75.0 %)",
            "  run 1: sender's CPU",
        ],
    );
    let many = (1..=7).map(|size| full(&size.to_string()));
    let lines = explanation_lines(&explanation(many.collect()));
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
        ..explanation(Vec::new())
    };
    let text = text(&explanation_blocks(&found, false), u16::MAX);
    assert_says(
        &text,
        &["\nwarning: 2 runs; make more\nwarning: a; b: 2 runs; make more\n"],
    );
}

#[test]
fn limiters_with_the_same_share_are_no_verdict() {
    let tied = cell("a", &["receiver_cpu", "sender_cpu", "unknown"]);
    let words = tied.limiter_words().expect("runs");
    assert!(
        words.starts_with("mixed: ")
            && words.contains("receiver's CPU")
            && words.contains("sender's CPU")
            && !words.contains("unknown"),
        "{words}"
    );
    let text = text(&cell_blocks(&tied.name, &tied), u16::MAX);
    assert!(text.contains(&words), "{text}");
    let clear = cell("a", &["sender_cpu", "sender_cpu", "unknown"]);
    assert_eq!(clear.limiter_words().as_deref(), Some("sender's CPU"));
}
