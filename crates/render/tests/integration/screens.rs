//! Whole outputs for people, of executions whose figures are known: a study's tables, the same in
//! Markdown, and the summary of one test. After a change on purpose
//! `INSTA_UPDATE=always cargo test -p bitcost-render --test integration screens` writes the new
//! text; read its diff.

use insta::assert_snapshot;

use crate::common::*;
use bitcost_render::answer::study_answer;
use bitcost_render::block::markdown;
use bitcost_render::one_run::{all_figures, test_answer};
use bitcost_render::report::of_summary;

fn events() -> Vec<Event> {
    whole(STUDY, 3)
}

/// With the document's figures and the improvement under each.
#[test]
fn tables_of_a_study() {
    let text = text(&events());
    let is_wide = |line: &str| line.chars().count() > 100;
    assert!(!text.lines().any(is_wide), "{text}");
    assert_snapshot!(text);
}

#[test]
fn tables_of_a_study_in_markdown() {
    let summary = summary(&events());
    assert_snapshot!(markdown(&of_summary(&summary, NARROW)));
}

/// Everything about a test, and its answer, which fits on a small terminal.
#[test]
fn figures_and_answer_of_a_test() {
    let events = events();
    let Event::Planned { plan } = &events[1] else {
        panic!("a plan")
    };
    let (index, sender, receiver) = first_run(&events);
    let conditions = &plan.cells[plan.runs[index].cell].conditions;
    let run = view(sender, receiver, conditions, true);
    assert_snapshot!("summary_of_a_test", printed(&all_figures(&run), NARROW));
    let answer = printed(
        &test_answer(&run, "h1 to h2 in lab wire", None, None),
        NARROW,
    );
    assert!(answer.lines().count() <= 10, "{answer}");
    assert!(answer.lines().all(|line| line.chars().count() <= 80));
    assert_snapshot!("answer_of_a_test", answer);
}

#[test]
fn answer_of_a_study() {
    let folder = "bitcost-runs/2026-07-27T10-00-00-known";
    let answer = printed(&study_answer(&findings(&events()), folder), NARROW);
    assert!(answer.lines().all(|line| line.chars().count() <= 80));
    assert_snapshot!(answer);
}
