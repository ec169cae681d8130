//! The frame of runs and of stretches: columns, values, and what words of a study can do to a file.

use crate::common::*;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{RunRows, Table, Value, intervals_table};
use bitcost_render::csv::csv;
use insta::assert_snapshot;

fn runs_table(executions: &[Findings]) -> Table {
    let rows = RunRows::new(executions);
    Table {
        rows: rows.iter().collect(),
        columns: rows.columns,
    }
}

fn column(table: &Table, name: &str) -> usize {
    let place = table.columns.iter().position(|known| known == name);
    place.expect("a column")
}

#[test]
fn a_row_per_run_has_levels_outcome_and_metrics_with_units() {
    let events = log(STUDY, 2, |cell, planned| match planned.index {
        3 => Made::Failed(FailureKind::Failed, "an end hung"),
        7 => Made::Missing,
        _ => ended(cell, &plain(cell, planned)),
    });
    let executions = [execution("folder", &events)];
    let table = runs_table(&executions);
    // A metric that no run has is no column.
    assert_snapshot!(csv(&table.columns, &table.rows));
    let place = column(&table, "throughput_mbps");
    for (row, run) in table.rows.iter().zip(&executions[0].summary.runs) {
        assert_eq!(row[place], Value::from(run.value(throughput()[0])));
    }
    assert_eq!(table.rows[3][place], Value::Null);
}

/// Four runs, two ends, one stretch each; runs and blocks count from 1, as for people.
#[test]
fn a_row_per_stretch_has_its_end_and_times() {
    let table = intervals_table(&[execution("folder", &whole(STUDY, 1))], false);
    assert_snapshot!(csv(&table.columns, &table.rows));
}

#[test]
fn what_another_program_s_file_does_not_say_is_absent() {
    let study = STUDY.replace("label = \"TCP\"", "label = \"not said\"");
    let mut events = whole(&study, 1);
    let level = |events: &[Event]| {
        let table = runs_table(&[execution("folder", events)]);
        let place = column(&table, "transport");
        let mut levels = table.rows.iter().map(|row| row[place].clone());
        let other = levels.find(|level| level != "UDP");
        other.expect("another level")
    };
    assert_eq!(
        level(&events),
        Value::from("not said"),
        "a label of ours is what it says"
    );
    for event in &mut events {
        if let Event::RunEnded { run, .. } = event {
            *event = Event::RunImported {
                run: *run,
                imported: Default::default(),
            };
        }
    }
    assert_eq!(level(&events), Value::Null);
    assert_eq!(
        summary(&events).cells[1].name(),
        "1024 · not said",
        "tables name the cell"
    );
}
