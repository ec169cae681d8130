//! Explanations as text and as JSON: of the paper's own tables, and of cells that are known.

use bitcost_analysis::explain::{
    ExplainedCell, Explanation, LIMITERS, RunFigures, Warning, explain_table,
};
use bitcost_analysis::metrics::Figures;
use bitcost_render::explained::{
    cell_text, explanation_folded, explanation_json, explanation_lines, explanation_text,
};
use bitcost_testkit::assert_says;

/// Messages of these sizes with the throughput that the paper has for them.
const SWEEP: [(f64, f64); 14] = [
    (1.0, 5.56),
    (2.0, 11.04),
    (3.0, 16.60),
    (4.0, 21.95),
    (16.0, 87.06),
    (32.0, 178.26),
    (64.0, 354.48),
    (128.0, 691.31),
    (256.0, 1351.93),
    (512.0, 2555.18),
    (1024.0, 4782.00),
    (2048.0, 8327.85),
    (4096.0, 12937.09),
    (8192.0, 18356.68),
];

fn datagrams(run: u64, size: f64, figures: &[(&'static str, f64)]) -> RunFigures {
    let of = |name| figures.iter().find(|(known, _)| *known == name);
    RunFigures {
        run,
        message_size_bytes: Some(size),
        is_datagram: true,
        figures: Figures::of(|metric| Some(of(metric.name)?.1)),
        ..RunFigures::default()
    }
}

fn explained(runs: &[RunFigures]) -> Explanation {
    explain_table("a table".into(), runs, 0)
}

#[test]
fn lines_are_folded_to_the_words_after_their_marks() {
    let runs = SWEEP.map(|(size, mbps)| datagrams(1, size, &[("send_throughput_mbps", mbps)]));
    let text = explanation_text(&explained(&runs), true);
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
fn two_sizes_give_no_cost_model_and_say_so() {
    let runs = [SWEEP[0], SWEEP[13]]
        .map(|(size, mbps)| datagrams(1, size, &[("send_throughput_mbps", mbps)]));
    let found = explained(&runs);
    assert!(found.costs.is_empty());
    let text = explanation_text(&found, false);
    assert!(text.contains("no cost model: it needs 3 sizes"), "{text}");
}

#[test]
fn cells_of_which_the_same_is_said_have_one_line() {
    let run = |size: f64, peak: f64| {
        datagrams(1, size, &[("sender_peak_cpu_pct", peak), ("loss_pct", 0.0)])
    };
    let found = explained(&[run(64.0, 99.9), run(1024.0, 100.0)]);
    let line = "messages of 64 B; messages of 1024 B: sender's CPU (1 run, likely)";
    assert_eq!(explanation_lines(&found), [line]);
    let text = explanation_text(&found, true);
    assert_says(
        &text,
        &[
            "messages of 64 B: sender's CPU (1 run, likely)",
            "  evidence: sender_peak_cpu_pct 99.9 % (threshold: at least 99.5 %)",
            "  run 1: sender's CPU",
        ],
    );
    let many: Vec<_> = (1..=7).map(|size| run(f64::from(size), 100.0)).collect();
    let lines = explanation_lines(&explained(&many));
    assert!(lines[0].contains("; … messages of 7 B (7 cells): sender's CPU"));
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
        ..explained(&[datagrams(1, 64.0, &[])])
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
        let runs = explained(&[datagrams(1, 64.0, &[])]).cells.remove(0).runs;
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
