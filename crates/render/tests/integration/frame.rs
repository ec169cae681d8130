//! The frame of runs and of stretches: columns, values, and what words of a study can do to a file.

use crate::common::{Made, STUDY, ended, findings, log, plain, summary};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Value, intervals_table, runs_table};
use bitcost_model::event::FailureKind;
use bitcost_render::block::markdown;
use bitcost_render::csv::csv;
use bitcost_render::layout::TextOptions;
use bitcost_render::lines::Lines;
use bitcost_render::report::of_summary;

fn execution(events: &[bitcost_model::event::Event]) -> Findings {
    Findings {
        name: "folder".into(),
        ..findings(events)
    }
}

#[test]
fn a_row_per_run_has_levels_outcome_and_metrics_with_units() {
    let events = log(STUDY, 2, |cell, planned| match planned.index {
        3 => Made::Failed(FailureKind::Failed, "an end hung"),
        7 => Made::Missing,
        _ => ended(cell, &plain(cell, planned)),
    });
    let executions = [execution(&events)];
    let table = runs_table(&executions);
    assert_eq!(table.rows.len(), 8);
    let first = [
        "execution",
        "study",
        "run",
        "block",
        "cell",
        "message_size_bytes",
        "transport",
        "status",
        "reason",
    ];
    assert_eq!(table.columns[..9], first);
    let column = |name: &str| {
        table
            .columns
            .iter()
            .position(|known| known == name)
            .expect("a column")
    };
    let (status, throughput) = (column("status"), column("throughput_mbps"));
    assert_eq!(table.rows[3][status], Value::from("failed"));
    assert_eq!(table.rows[3][column("reason")], Value::from("an end hung"));
    assert_eq!(
        (&table.rows[3][throughput], &table.rows[7][status]),
        (&Value::Absent, &Value::from("missing"))
    );
    for (row, run) in table.rows.iter().zip(&executions[0].summary.runs) {
        let metric = bitcost_analysis::metrics::metric("throughput_mbps").expect("a metric");
        assert_eq!(row[throughput], Value::from(run.value(metric)));
        let numbers = ["run", "block", "cell"].map(|name| row[column(name)].clone());
        assert_eq!(
            numbers,
            [run.run, run.block, run.cell as u32].map(|number| Value::from(number + 1)),
            "from 1"
        );
    }
    assert!(
        !table.columns.contains(&"latency_mean_us".to_owned()),
        "no run has it"
    );
    let lines = csv(&table);
    assert_eq!(lines.lines().count(), 9);
    assert!(
        lines
            .lines()
            .all(|line| line.split(',').count() == table.columns.len())
    );
    assert_eq!(
        bitcost_render::document::table_json(&table)[3].get("throughput_mbps"),
        None
    );
}

#[test]
fn a_row_per_stretch_has_its_end_and_times() {
    let events = log(STUDY, 1, |cell, planned| ended(cell, &plain(cell, planned)));
    let table = intervals_table(&[execution(&events)]);
    assert_eq!(table.rows.len(), 8, "four runs, two ends, one stretch each");
    let column = |name: &str| {
        table
            .columns
            .iter()
            .position(|known| known == name)
            .expect("a column")
    };
    assert_eq!(table.rows[0][column("end")], Value::from("sender"));
    let numbers = ["run", "block"].map(|name| table.rows[0][column(name)].clone());
    assert_eq!(
        numbers,
        [1_u32, 1].map(Value::from),
        "from 1, as for people"
    );
    assert_eq!(table.rows[0][column("end_s")], Value::Number(2.0));
    assert_eq!(table.rows[0][column("cpu_util_pct")], Value::Number(50.0));
    assert_eq!(table.rows[0][column("cpu0_busy_pct")], Value::Number(50.0));
}

#[test]
fn what_another_program_s_file_does_not_say_is_absent() {
    let study = STUDY.replace("label = \"TCP\"", "label = \"not said\"");
    let mut events = log(&study, 1, |cell, planned| {
        ended(cell, &plain(cell, planned))
    });
    let level = |events: &[bitcost_model::event::Event]| {
        let table = runs_table(&[execution(events)]);
        let column = table
            .columns
            .iter()
            .position(|name| name == "transport")
            .expect("a column");
        let mut levels: Vec<Value> = table.rows.iter().map(|row| row[column].clone()).collect();
        levels.dedup();
        levels
            .into_iter()
            .find(|level| *level != Value::from("UDP"))
            .expect("another level")
    };
    assert_eq!(
        level(&events),
        Value::from("not said"),
        "a label of ours is what it says"
    );
    for event in &mut events {
        if let bitcost_model::event::Event::RunEnded { run, .. } = event {
            *event = bitcost_model::event::Event::RunImported {
                run: *run,
                imported: Default::default(),
            };
        }
    }
    assert_eq!(level(&events), Value::Absent);
    assert_eq!(
        summary(&events).cells[1].name(),
        "1024 · not said",
        "tables name the cell"
    );
}

#[test]
fn labels_cannot_leave_their_field() {
    let hostile = STUDY.replace("label = \"TCP\"", "label = '=1+1|<b>\",x'");
    let events = log(&hostile, 1, |cell, planned| {
        ended(cell, &plain(cell, planned))
    });
    let executions = [execution(&events)];
    let table = runs_table(&executions);
    let text = csv(&table);
    assert!(text.contains("\"'=1+1|<b>\"\",x\""), "{text}");
    let text = Lines::from(&table).markdown();
    assert!(text.contains("=1+1\\|&lt;b&gt;\",x"), "{text}");
    let width = TextOptions::default().width;
    let text = markdown(&of_summary(&executions[0].summary, width));
    assert!(text.contains("=1+1\\|&lt;b&gt;") && !text.contains("<b>"));
}
