//! Experiments on a verdict, with runs whose bottleneck is known because they are made up.

use bitcost_analysis::explain::{Confidence, Decision, Outcome, Proof};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::prove::{FACTOR, Ordinary, UNCHANGED, apply, choose};
use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::event::{Event, FORMAT};
use bitcost_model::plan::Lengths;
use bitcost_model::study::Cell;
use bitcost_study::settings::SETTINGS;
use bitcost_study::{Single, Varied};

use crate::executions::{Pace, events_of};

const BYTES: u64 = 1000;

/// An execution of UDP messages in these variants.
fn execution(
    varied: Option<&Varied>,
    blocks: u32,
    ns: impl Fn(u32, &Conditions) -> f64,
) -> Findings {
    let setting = |name: &str, value: &str| {
        let found = SETTINGS.iter().find(|setting| setting.name == name);
        (found.expect("a setting"), value.to_owned())
    };
    let settings = [
        setting("message_size_bytes", "1000"),
        setting("send_work_ns", "1500"),
    ];
    let single = Single {
        workload: Workload::UdpStream,
        settings: &settings,
        lab: None,
        runs: blocks,
        until: None,
        varied,
    };
    let study = single.study().expect("a study");
    let plan = study.plan(1, Lengths::default());
    let pace = |run: u32, cell: &Cell| {
        let noise = 1.0 + 0.004 * f64::from(run * 7 % 5);
        Pace {
            bytes: (1e8 / (ns(run, &cell.conditions) * noise)) as u64 * BYTES,
            run_ns: 99_000_000,
            busy_ticks: 10,
        }
    };
    let mut events = vec![Event::ExecutionBegan {
        format: FORMAT,
        bitcost_version: "0".to_owned(),
        at: "2026-11-25T12:00:00+00:00".to_owned(),
        command_line: Vec::new(),
        study: study.name.clone(),
        study_text: study.text.clone(),
        lab_text: None,
    }];
    events.extend(events_of(&plan, pace));
    Findings::of_events("test".to_owned(), events).expect("findings")
}

/// What experiments show of a test whose messages take this long.
fn proof(ns: impl Fn(u32, &Conditions) -> f64) -> (Findings, Proof) {
    let mut findings = execution(None, 1, &ns);
    let ordinary = Ordinary::of(&findings).expect("a test");
    let chosen = choose(&ordinary, &[], &|_| Ok(()));
    let settings = |name: &str| SETTINGS.iter().find(|setting| setting.name == name);
    let levels = chosen.tried.iter().map(|(row, set)| {
        let set = set.iter();
        let set = set.map(|(name, value)| (settings(name).expect("a setting"), value.clone()));
        (row.name.to_owned(), set.collect())
    });
    let levels: Vec<_> = levels.collect();
    let varied = Varied::one_factor(
        Workload::UdpStream,
        ("prove", "Which?"),
        (FACTOR, UNCHANGED),
        &levels,
    );
    let stage = execution(Some(&varied), 8, &ns);
    apply(&mut findings, &[stage], Some(chosen.untried));
    let proof = findings.explanation.cells[0]
        .proof
        .clone()
        .expect("a proof");
    (findings, proof)
}

/// A sender that works 1.5 µs on a message and needs 0.5 µs to send it.
fn sender_limits(_: u32, conditions: &Conditions) -> f64 {
    500.0 + f64::from(conditions.buffers.send_work_ns)
}

/// A receiver that needs 2 µs for a message, at which the sender waits by polling.
fn receiver_limits(_: u32, conditions: &Conditions) -> f64 {
    2000.0 + f64::from(conditions.buffers.receive_work_ns)
}

#[test]
fn a_sender_that_limits_is_proved_with_an_elasticity_of_one() {
    let (findings, proof) = proof(sender_limits);
    assert_eq!(proof.outcome, Outcome::Proved, "{proof:?}");
    let first = &proof.tried[0];
    assert_eq!(
        (first.name, first.decision),
        ("sender_cpu", Decision::Limits)
    );
    let elasticity = first.elasticity.expect("an elasticity").value;
    assert!((elasticity - 1.0).abs() < 0.1, "{elasticity}");
    let others = proof.tried.iter().skip(1);
    assert!(others.clone().count() > 0);
    for other in others {
        assert_eq!(other.decision, Decision::DoesNot, "{other:?}");
    }
    let verdict = findings.explanation.cells[0].verdict().expect("a verdict");
    assert_eq!(
        (verdict.limiter().name(), verdict.confidence),
        ("sender_cpu", Confidence::Proved)
    );
}

#[test]
fn a_wrong_verdict_is_refuted_and_replaced() {
    let (findings, proof) = proof(receiver_limits);
    let named = proof.named.as_ref().map(|named| named.name());
    assert_eq!(named, Some("sender_cpu"));
    assert!(
        matches!(&proof.outcome, Outcome::Refuted(found) if found.name() == "receiver_cpu"),
        "{proof:?}"
    );
    let verdict = findings.explanation.cells[0].verdict().expect("a verdict");
    assert_eq!(
        (verdict.limiter().name(), verdict.confidence),
        ("receiver_cpu", Confidence::Proved)
    );
    assert!(
        verdict.chosen.detail.contains("sender's CPU"),
        "{verdict:?}"
    );
}

#[test]
fn nothing_is_proved_where_the_unchanged_runs_drift_or_differ_from_the_test() {
    let drifting = |run: u32, conditions: &Conditions| {
        sender_limits(run, conditions) * (1.0 + 0.01 * f64::from(run))
    };
    let (findings, drifted) = proof(drifting);
    assert!(
        matches!(&drifted.outcome, Outcome::Undecided(why) if why.contains("drift")),
        "{drifted:?}"
    );
    let verdict = findings.explanation.cells[0].verdict().expect("a verdict");
    assert_ne!(verdict.confidence, Confidence::Proved);
    // Only the test itself is this run alone.
    let slower = |run: u32, conditions: &Conditions| {
        let factor = if run == 0 { 0.3 } else { 1.0 };
        factor * sender_limits(run, conditions)
    };
    let (_, differs) = proof(slower);
    assert!(
        matches!(&differs.outcome, Outcome::Undecided(why) if why.contains("short runs")),
        "{differs:?}"
    );
}
