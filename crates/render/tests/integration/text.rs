//! The text that people read of made-up executions.

use crate::common::*;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::summary::Note;
use bitcost_render::block::Block;
use bitcost_render::notes::notes;
use insta::assert_snapshot;

#[test]
fn lost_datagrams_are_shown_next_to_their_cost() {
    let events = log(STUDY, 3, |cell, run| {
        let mut did = plain(cell, run);
        if is(cell, "transport", "UDP") {
            did.received_mbps *= 0.75;
        }
        ended(cell, &did)
    });
    assert_snapshot!(text(&events));
}

#[test]
fn what_was_left_out_is_said_with_its_reason() {
    let events = log(STUDY, 3, |cell, run| {
        match (run.block, cell.name().as_str()) {
            (0, "1024 · UDP") => Made::Failed(
                FailureKind::Failed,
                "the receiver did not answer within 5 s",
            ),
            (2, "8192 · TCP") => Made::Failed(FailureKind::Interrupted, "stopped by Ctrl-C"),
            (1, "8192 · UDP") => Made::Missing,
            _ => ended(cell, &plain(cell, run)),
        }
    });
    assert_snapshot!(text(&events));
}

#[test]
fn an_execution_without_runs_and_one_whose_runs_all_failed_still_print() {
    let failed = || Made::Failed(FailureKind::Failed, "no route");
    for made in [|| Made::Missing, failed] {
        assert_snapshot!(text(&log(STUDY, 2, |_, _| made())));
    }
}

#[test]
fn what_is_true_of_many_cells_is_said_once() {
    let events = whole(STUDY, 1);
    let mut of_all = summary(&events);
    let note = |cell: &CellSummary, text: &str| Note {
        cell: Some(cell.name()),
        text: text.into(),
        runs: 2,
    };
    let cells = of_all.cells.clone();
    of_all.notes = cells.iter().map(|cell| note(cell, "disturbed")).collect();
    of_all
        .notes
        .extend(cells.iter().take(2).map(|cell| note(cell, "late")));
    let has = |of: &Summary, words: &str| {
        notes(of).contains(&Block::Note("note: ".to_owned(), words.to_owned()))
    };
    assert!(has(&of_all, "all cells: disturbed (8 runs)"));
    assert!(has(&of_all, "1024 · UDP; 1024 · TCP: late (4 runs)"));
    of_all.cells.push(cells[0].clone());
    assert!(has(&of_all, "4 of 5 cells: disturbed (8 runs)"));
    let json = bitcost_render::document::json(&Findings {
        summary: of_all,
        ..findings(&events)
    });
    assert_snapshot!(pretty(&json["notes"]));
}

#[test]
fn a_third_factor_has_a_table_per_level_and_its_improvement_one_more() {
    let third = "[[factor]]\nname = \"receiver_delay_us\"\nlevels = [0, 5]\n[run]";
    let study = STUDY.replace("[run]", third).replace(
        "improvement = { factor = \"message_size_bytes\", old = 1024, new = 8192 }",
        "improvement = { factor = \"receiver_delay_us\", old = 5, new = 0 }",
    );
    let events = log(&study, 2, |cell, run| {
        let mut did = plain(cell, run);
        if is(cell, "receiver_delay_us", "5") {
            (did.sent_mbps, did.received_mbps) = (did.sent_mbps / 4.0, did.received_mbps / 4.0);
        }
        ended(cell, &did)
    });
    assert_snapshot!(text(&events));
}

#[test]
fn tables_fold_where_the_page_is_narrow() {
    let events = whole(STUDY, 3);
    let text = text_of(&summary(&events), 50);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 10 && rows.iter().all(|row| row.chars().count() <= 50));
}

/// Three blocks of a version of bitcost whose plans may differ from those of this one: only then can
/// there be a cell that the study does not give.
fn of_another_version(change: impl Fn(&str) -> String) -> Vec<Event> {
    let mut events = whole(STUDY, 3);
    if let Event::ExecutionBegan {
        study_text,
        bitcost_version,
        ..
    } = &mut events[0]
    {
        *bitcost_version = "0.0.1".to_owned();
        *study_text = change(study_text);
    }
    events
}

#[test]
fn a_table_that_would_be_mostly_empty_has_a_row_per_cell() {
    let tools = "\n[[factor]]\nname = \"tool\"\nlevels = [{ label = \"a\" }, { label = \"b\" }]\n";
    let mut events = of_another_version(|study| {
        study.replace("levels = [1024, 8192]", "levels = [1024, 2048, 4096, 8192]") + tools
    });
    if let Event::Planned { plan } = &mut events[1] {
        let cells = plan.cells.iter_mut();
        cells.for_each(|cell| cell.levels.push(word("tool", "a")));
    }
    assert_snapshot!(text(&events));
}

#[test]
fn levels_without_a_cell_have_no_row_and_many_have_no_columns() {
    let with = |levels: &str| {
        text(&of_another_version(|study| {
            study.replace("levels = [1024, 8192]", levels).replace(
                "rows = \"message_size_bytes\"\ncolumns = \"transport\"",
                "rows = \"transport\"\ncolumns = \"message_size_bytes\"",
            )
        }))
    };
    assert_snapshot!(with("levels = [1024, 4096, 8192]"));
    let many = (0..200).map(|place| (1024 + place * 32).to_string());
    let many: Vec<String> = many.chain(["8192".into()]).collect();
    let many = with(&format!("levels = [{}]", many.join(", ")));
    assert!(many.lines().all(|line| line.chars().count() <= 110));
    assert!(many.lines().any(|line| line.starts_with("| 8192 · TCP")));
}
