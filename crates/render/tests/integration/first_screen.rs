//! What a first screen says of figures that are missing, weak or left out.

use bitcost_analysis::metrics::{RunView, attribute};
use bitcost_model::conditions::Conditions;
use bitcost_model::counters::{ForeignLoad, ForeignProgram};
use bitcost_model::event::{Event, FailureKind};
use bitcost_model::plan::PlannedRun;
use bitcost_model::record::{EndpointRecord, InEffect, Role, ThreadKind};
use bitcost_model::study::Cell;
use bitcost_render::answer::study_answer;
use bitcost_render::block::text as printed;
use bitcost_render::layout::TextOptions;
use bitcost_render::one_run::test_answer;
use bitcost_testkit::assert_says;

use crate::common::{Made, STUDY, ended, findings, log, plain, text};

const FOLDER: &str = "bitcost-runs/2026-07-27T10-00-00-lab15";

fn answer(events: &[Event]) -> String {
    printed(
        &study_answer(&findings(events), FOLDER),
        TextOptions::default().narrow(),
    )
}

/// The lines with this label, each with its further lines, as one text.
fn labelled(answer: &str, label: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_of = false;
    for line in answer.lines() {
        let further = line.starts_with(' ');
        is_of = line.starts_with(label) || (is_of && further);
        match (is_of, further) {
            (true, true) => *found.last_mut().unwrap() += &format!(" {}", line.trim()),
            (true, false) => found.push(line.trim_start_matches(label).trim().to_owned()),
            _ => {}
        }
    }
    found
}

/// Without the threads by which CPU time of a lab is attributed.
fn without_threads(cell: &Cell, run: &PlannedRun) -> Made {
    let mut made = ended(cell, &plain(cell, run));
    if let Made::Ended(sender, receiver) = &mut made {
        for end in [sender, receiver] {
            hide_threads(end);
        }
    }
    made
}

fn hide_threads(end: &mut EndpointRecord) {
    for sample in &mut end.samples {
        sample
            .threads
            .retain(|thread| thread.kind == ThreadKind::Traffic);
    }
    end.pinned_cpus.clear();
}

/// The first run has failed and the last was not made.
fn partly(cell: &Cell, run: &PlannedRun, last: u32) -> Made {
    match run.index {
        0 => Made::Failed(FailureKind::Failed, "the receiver was gone"),
        index if index == last => Made::Missing,
        _ => ended(cell, &plain(cell, run)),
    }
}

/// Costs of some cells or runs are missing, and runs.
#[test]
fn what_is_missing_is_said_on_the_first_screen() {
    let paper = include_str!("../../../../studies/not-all-mbits.toml");
    let some = log(paper, 3, |cell, run| match run.block {
        0 => without_threads(cell, run),
        _ => ended(cell, &plain(cell, run)),
    });
    let made = |cell: &Cell, run: &PlannedRun| partly(cell, run, 3 * 4 - 1);
    for events in [log(STUDY, 3, without_threads), some, log(STUDY, 3, made)] {
        insta::assert_snapshot!(answer(&events));
    }
}

#[test]
fn a_missing_cost_has_the_reason_of_its_attribution() {
    let events = log(STUDY, 1, without_threads);
    let run = events.iter().find_map(|event| match event {
        Event::RunEnded {
            sender, receiver, ..
        } => Some((sender, receiver)),
        _ => None,
    });
    let (sender, receiver) = run.expect("a run has ended");
    let conditions = Conditions::default();
    let view = RunView {
        sender,
        receiver,
        conditions: &conditions,
        shared_cpus: true,
        napi_threaded: false,
        capacity_mbps: None,
    };
    let reason = attribute(&view)
        .expect_err("nothing to attribute by")
        .to_string();
    let of_study = answer(&events);
    let caveats = labelled(&of_study, "caveat").join("\n");
    assert!(caveats.contains(&reason), "{reason}\n{of_study}");
    let of_test = test_answer(&view, "h1 to h2 in lab wire", None);
    let of_test = printed(&of_test, TextOptions::default().narrow());
    let cost = labelled(&of_test, "cost");
    assert_eq!(cost, [format!("not known: {reason}")], "{of_test}");
}

#[test]
fn intervals_of_few_runs_say_what_they_cover() {
    let of = |blocks| {
        text(&log(STUDY, blocks, |cell, run| {
            ended(cell, &plain(cell, run))
        }))
    };
    let few = of(3);
    assert_says(&few, &["minimum and maximum of 3 runs: 75 % instead of"]);
    let many = of(6);
    assert!(many.contains("95 % intervals") && !many.contains("instead of 95 %"));
}

#[test]
fn a_test_prints_every_caveat() {
    let conditions = Conditions::default();
    let end = |role| EndpointRecord {
        role,
        foreign: Some(ForeignLoad {
            start_ns: 0,
            end_ns: 1_000_000_000,
            cpu_ns: 500_000_000,
            programs: vec![ForeignProgram {
                name: "cc1".into(),
                pid: 7,
                cpu_ns: 500_000_000,
            }],
        }),
        ..EndpointRecord::default()
    };
    let answer = |sender: &EndpointRecord| {
        let view = RunView {
            sender,
            receiver: &end(Role::Receiver),
            conditions: &conditions,
            shared_cpus: true,
            napi_threaded: true,
            capacity_mbps: None,
        };
        printed(
            &test_answer(&view, "h1 to h2", None),
            TextOptions::default().narrow(),
        )
    };
    let mut sender = end(Role::Sender);
    let one = answer(&sender);
    let caveats = labelled(&one, "caveat");
    assert_eq!(
        caveats,
        ["other programs took 50 % of a CPU, most of it cc1 (50 %)"]
    );
    for name in ["send_buffer_bytes", "pacing", "tos", "mss"] {
        sender.in_effect.push(InEffect {
            name: name.into(),
            requested: Some("1".into()),
            actual: Some("2".into()),
        });
    }
    let many = answer(&sender);
    assert_eq!(labelled(&many, "caveat").len(), 5, "{many}");
}
