//! The document that programs read, and which runs are in its cells.

use crate::common::*;
use bitcost_analysis::log::{LogError, Reader};
use bitcost_analysis::summary::precision_after;
use bitcost_model::record::{Arrivals, Counts};
use insta::assert_snapshot;

#[test]
fn cells_hold_levels_runs_and_figures() {
    assert_snapshot!(pretty(&json(&whole(STUDY, 3))));
}

/// In a study of which the smaller message costs the receiver less.
#[test]
fn improvements_are_above_1_where_it_got_better() {
    let document = json(&log(STUDY, 3, |cell, run| {
        let mut did = plain(cell, run);
        let is_small = is(cell, "message_size_bytes", "1024");
        did.receiver_cpu_ms = if is_small { 200 } else { 800 };
        ended(cell, &did)
    }));
    assert_snapshot!(pretty(&document["improvements"]));
}

#[test]
fn one_run_has_a_median_without_bounds() {
    let document = json(&whole(STUDY, 1));
    let figures = [&document["cells"][0], &document["improvements"][0]];
    assert_eq!(
        figures.map(|of| of["throughput_mbps"].clone()),
        [
            json!({ "median": 1024.0, "runs": 1 }),
            json!({ "value": 2.0 })
        ]
    );
}

/// Runs whose conditions were not in effect, and those whose counts cannot be of the run alone.
#[test]
fn runs_that_cannot_be_used_are_left_out_of_tables_and_verdicts() {
    let events = altered(STUDY, 6, |cell, run, sender, receiver| {
        let measured_sent = sender.counts.measured.messages;
        let arrived = |late, reordered, foreign| {
            let measured = Arrivals {
                late,
                reordered,
                ..Arrivals::default()
            };
            Some(Sequence {
                measured_sent,
                late,
                measured: Some(measured),
                foreign,
                ..Sequence::default()
            })
        };
        match (run.block, cell.name().as_str()) {
            (0, "1024 · TCP") => {
                let name = || "tx-tcp-segmentation".to_owned();
                sender.offloads.requested.insert(name(), true);
                sender.offloads.active.insert(name(), false);
            }
            (1, "1024 · TCP") => sender.tcp_info.as_mut().unwrap().snd_mss_bytes = Some(1012),
            (2, "8192 · UDP") => receiver.counts.measured.bytes = 0,
            (3, "8192 · UDP") => receiver.counts.measured.messages = measured_sent + 1,
            (4, "8192 · UDP") => receiver.sequence = arrived(measured_sent / 50, 0, 0),
            (5, "8192 · UDP") => receiver.sequence = arrived(0, measured_sent / 2, 3),
            _ => {}
        }
    });
    let document = json(&events);
    assert_snapshot!(pretty(&json!([
        document["excluded"],
        document["notes"],
        document["incomplete_runs"]
    ])));
    let cells = document["cells"].as_array().unwrap().iter();
    let runs: Vec<_> = cells.map(|cell| cell["runs"].as_u64()).collect();
    assert_eq!(runs, [6, 4, 3, 6].map(Some));
    // A verdict counts the same runs as the table.
    let explained = findings(&events).explanation.cells;
    let explained = explained.iter().map(|cell| Some(cell.runs.len() as u64));
    assert_eq!(explained.collect::<Vec<_>>(), runs);
}

#[test]
fn a_run_that_was_tried_again_counts_once() {
    let mut events = log(STUDY, 1, |_, _| {
        Made::Failed(FailureKind::Interrupted, "stopped by Ctrl-C")
    });
    assert_eq!(summary(&events).incomplete.len(), 4);
    events.extend(whole(STUDY, 1).into_iter().skip(3));
    let summary = summary(&events);
    assert!(summary.excluded.is_empty() && summary.incomplete.is_empty());
    assert!(summary.cells.iter().all(|cell| cell.runs == 1));
}

#[test]
fn a_run_that_was_broken_off_is_missing() {
    let mut events = whole(STUDY, 1);
    events.pop();
    assert_eq!(json(&events)["incomplete_runs"], json!([3]));
}

#[test]
fn a_log_without_its_first_event_says_so() {
    let events = log(STUDY, 1, |_, _| Made::Missing);
    let read = |events: &[Event]| Findings::of_events("x".into(), events.to_vec()).unwrap_err();
    assert_eq!(read(&[]), LogError::NoStudy);
    assert_eq!(read(&events[1..]), LogError::NoStudy);
    assert_eq!(read(&events[..1]), LogError::NoPlan);
}

#[test]
fn a_stop_rule_names_the_cells_that_are_still_wide() {
    // A rule of 3 % and 8 blocks at most.
    let rule = "blocks = 3\nuntil_interval_pct = 3\nmax_blocks = 8\n";
    let study = STUDY.replacen("blocks = 3\n", rule, 1);
    let made = |cell: &Cell, run: &PlannedRun, wild: bool| {
        let is_wild = wild && cell.name() == "8192 · UDP" && run.block % 2 == 1;
        let did = Did {
            sent_mbps: 2000.0,
            received_mbps: if is_wild { 1000.0 } else { 2000.0 },
            ..plain(cell, run)
        };
        ended(cell, &did)
    };
    // The rule looks at ratios where the study compares, otherwise at cells.
    let lines = study
        .lines()
        .filter(|line| !line.starts_with("improvement"));
    let alone: String = lines.map(|line| format!("{line}\n")).collect();
    let wide = [&study, &alone].map(|study| {
        json(&log(study, 8, |cell, run| made(cell, run, true)))["until_interval"].clone()
    });
    assert_snapshot!(pretty(&json!(wide)));
    // Ended after 5 of 8 blocks: the last 3 are not missing.
    let mut events = log(&study, 8, |cell, run| match run.block < 5 {
        true => made(cell, run, false),
        false => Made::Missing,
    });
    let missing = json(&events)["incomplete_runs"].as_array().map(Vec::len);
    assert_eq!(missing, Some(3 * summary(&events).cells.len()));
    events.push(Event::ExecutionEnded {
        at: String::new(),
        enough_blocks: Some(5),
    });
    let document = json(&events);
    assert_eq!(document["blocks"], 5);
    assert_eq!(document["incomplete_runs"], json!([]));
    assert_eq!(document["until_interval"]["reached"], true);
    let mut reader = Reader::default();
    let taken = events.iter().enumerate();
    taken.for_each(|(place, event)| reader.take(place, event));
    let of_summary = summary(&events).precision;
    assert!(of_summary.is_some());
    assert_eq!(of_summary, precision_after(5, reader).expect("a log"));
}

#[test]
fn a_run_whose_records_contradict_themselves_is_left_out_with_the_reason() {
    // Why the first run is left out, of an execution of one block, when its records are changed.
    let reasons = |change: fn(&mut EndpointRecord, &mut EndpointRecord)| {
        let events = altered(STUDY, 1, |_, planned, sender, receiver| {
            if planned.index == 0 {
                change(sender, receiver);
            }
        });
        let excluded = summary(&events).excluded.into_iter();
        excluded.map(|run| run.reason).collect::<Vec<_>>()
    };
    assert_eq!(reasons(|_, _| ()), Vec::<String>::new());
    let more = reasons(|_, receiver| {
        let Counts {
            bytes, messages, ..
        } = &mut receiver.counts.measured;
        (*bytes, *messages) = (*bytes * 5, *messages * 5);
    });
    let later = reasons(|sender, _| {
        let bytes = sender.counts.total().bytes + 1;
        sender.samples.last_mut().expect("samples").counts.bytes = bytes;
    });
    assert_snapshot!(format!("{more:#?}\n{later:#?}"));
    // Data in flight at the window's edges, and duplicate datagrams, contradict nothing.
    let fine = reasons(|sender, receiver| {
        receiver.counts.measured.bytes += 1024;
        sender.counts.outside.bytes += 1024;
        if let Some(sequence) = &mut receiver.sequence {
            receiver.counts.measured.messages += 3;
            sequence.duplicated = 3;
        }
    });
    assert_eq!(fine, Vec::<String>::new());
}

#[test]
fn events_that_do_not_belong_together_are_refused() {
    fn plan(events: &mut [Event]) -> &mut Plan {
        match &mut events[1] {
            Event::Planned { plan } => plan,
            other => panic!("no plan: {other:?}"),
        }
    }
    let events = whole(STUDY, 1);
    let slower = |events: &mut Vec<Event>| plan(events).cells[0].conditions.rate_bps = Some(5);
    let changes: [fn(&mut Vec<Event>); 5] = [
        |events| events.push(events[1].clone()),
        |events| events.push(events[4].clone()),
        |events| match &mut events[4] {
            Event::RunEnded { run, .. } => *run = 99,
            other => panic!("no result: {other:?}"),
        },
        slower,
        |events| {
            let runs = &mut plan(events).runs;
            (runs[0].cell, runs[1].cell) = (runs[1].cell, runs[0].cell);
        },
    ];
    let errors = changes.map(|change| {
        let mut events = events.clone();
        change(&mut events);
        let found = Findings::of_events("x".into(), events);
        found.map(drop).unwrap_err().to_string()
    });
    assert_snapshot!(errors.join("\n"));
    // A log of an earlier version may have other defaults in its plan.
    let mut earlier = events.clone();
    slower(&mut earlier);
    let Event::ExecutionBegan {
        bitcost_version, ..
    } = &mut earlier[0]
    else {
        panic!("a beginning")
    };
    "0.0.1".clone_into(bitcost_version);
    let caveats = summary(&earlier).caveats.into_iter();
    let of_plan = caveats.filter(|words| words.contains("made its plan"));
    assert_eq!(of_plan.count(), 1);
}
