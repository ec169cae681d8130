//! What a first screen says of figures that are missing, weak or left out.

use bitcost_analysis::metrics::attribute;
use bitcost_model::conditions::Workload;
use bitcost_model::counters::{ForeignLoad, ForeignProgram};
use bitcost_render::answer::study_answer;
use bitcost_render::one_run::test_answer;

use crate::common::*;

const FOLDER: &str = "bitcost-runs/2026-07-27T10-00-00-lab15";

fn answer(events: &[Event]) -> String {
    printed(&study_answer(&findings(events), FOLDER), NARROW)
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
fn without_threads(sender: &mut EndpointRecord, receiver: &mut EndpointRecord) {
    for end in [sender, receiver] {
        for sample in &mut end.samples {
            let threads = &mut sample.threads;
            threads.retain(|thread| thread.kind == ThreadKind::Traffic);
        }
        end.pinned_cpus.clear();
    }
}

/// Costs of some cells or runs are missing, and runs.
#[test]
fn what_is_missing_is_said_on_the_first_screen() {
    let paper = include_str!("../../../../studies/not-all-mbits.toml");
    let some = altered(paper, 3, |_, run, sender, receiver| {
        if run.block == 0 {
            without_threads(sender, receiver);
        }
    });
    let none = altered(STUDY, 3, |_, _, sender, receiver| {
        without_threads(sender, receiver);
    });
    // The first run has failed and the last was not made.
    let partly = log(STUDY, 3, |cell, run| match run.index {
        0 => Made::Failed(FailureKind::Failed, "the receiver was gone"),
        11 => Made::Missing,
        _ => ended(cell, &plain(cell, run)),
    });
    for events in [none, some, partly] {
        insta::assert_snapshot!(answer(&events));
    }
}

#[test]
fn a_missing_cost_has_the_reason_of_its_attribution() {
    let events = altered(STUDY, 1, |_, _, sender, receiver| {
        without_threads(sender, receiver);
    });
    let (_, sender, receiver) = first_run(&events);
    let conditions = Conditions::default();
    let view = RunView {
        napi_threaded: false,
        ..view(sender, receiver, &conditions, true)
    };
    let reason = attribute(&view).expect_err("nothing to attribute by");
    let reason = reason.to_string();
    let of_study = answer(&events);
    let caveats = labelled(&of_study, "caveat").join("\n");
    assert!(caveats.contains(&reason), "{reason}\n{of_study}");
    let of_test = test_answer(&view, "h1 to h2 in lab wire", None, None);
    let of_test = printed(&of_test, NARROW);
    let cost = labelled(&of_test, "cost");
    assert_eq!(cost, [format!("not known: {reason}")], "{of_test}");
}

#[test]
fn lost_datagrams_have_a_line_where_no_counter_was_read() {
    let conditions = Conditions::of(Workload::UdpStream);
    let sequence = Sequence {
        total_lost: 12,
        ..Sequence::default()
    };
    let sender = EndpointRecord::default();
    let receiver = EndpointRecord {
        role: Role::Receiver,
        sequence: Some(sequence),
        ..EndpointRecord::default()
    };
    let run = view(&sender, &receiver, &conditions, true);
    let answer = printed(&test_answer(&run, "h1 to h2", None, None), NARROW);
    let why = "12 datagrams lost with warm-up and cooldown; where is not known: the counters around the whole traffic are not in this log";
    assert_eq!(labelled(&answer, "losses"), [why], "{answer}");
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
        let receiver = end(Role::Receiver);
        let answer = test_answer(
            &view(sender, &receiver, &conditions, true),
            "h1 to h2",
            None,
            None,
        );
        printed(&answer, NARROW)
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
            requested: Some("1".into()),
            ..in_effect(name, "2")
        });
    }
    let many = answer(&sender);
    assert_eq!(labelled(&many, "caveat").len(), 5, "{many}");
}
