//! Experiments on a verdict, with runs whose bottleneck is known because they are made up.

use bitcost_analysis::explain::{Confidence, Decision, Outcome, Proof, Tried};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::prove::{Chosen, FACTOR, Ordinary, UNCHANGED, apply, choose, judge};
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

/// A study of these perturbations, in this number of blocks.
fn experiments(chosen: &Chosen, blocks: u32, ns: impl Fn(u32, &Conditions) -> f64) -> Findings {
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
    execution(Some(&varied), blocks, ns)
}

/// The proof that is among the findings.
fn proof_of(findings: &Findings) -> Proof {
    let proof = findings.explanation.cells[0].proof.clone();
    proof.expect("a proof")
}

/// What experiments show of a test whose messages take this long.
fn proof(ns: impl Fn(u32, &Conditions) -> f64) -> (Findings, Proof) {
    let mut findings = execution(None, 1, &ns);
    let ordinary = Ordinary::of(&findings).expect("a test");
    let chosen = choose(&ordinary, &[], &|_| Ok(()));
    assert!(!chosen.needs_screening(&ordinary));
    let stage = experiments(&chosen, 8, &ns);
    apply(&mut findings, &[stage], Some(chosen.untried));
    let proof = proof_of(&findings);
    (findings, proof)
}

/// What experiments show of a test without a suspect whose messages take `screened` in the block that screens, and
/// `decided` in the test and in the blocks that decide; with the names of what was screened and of what stood out.
fn proof_without_suspect(
    screened: impl Fn(u32, &Conditions) -> f64,
    decided: impl Fn(u32, &Conditions) -> f64,
) -> (Proof, [Vec<&'static str>; 2]) {
    let findings = execution(None, 1, &decided);
    let mut ordinary = Ordinary::of(&findings).expect("a test");
    (ordinary.named, ordinary.next) = (None, Vec::new());
    let chosen = choose(&ordinary, &[], &|_| Ok(()));
    assert!(chosen.needs_screening(&ordinary));
    assert_ne!(ordinary.short_runs(true), ordinary.short_runs(false));
    let names = |chosen: &Chosen| -> Vec<_> { chosen.tried.iter().map(|one| one.0.name).collect() };
    let all = names(&chosen);
    let mut stages = vec![experiments(&chosen, 1, screened)];
    let first = judge(&ordinary, &[], &[&stages[0]], false);
    assert!(first.tried.iter().all(|one| one.decision == Decision::Open));
    assert!(matches!(first.outcome, Outcome::Undecided(_)), "{first:?}");
    let left = chosen.standing_out(&first.tried);
    stages.push(experiments(&left, 8, decided));
    let stages: Vec<&Findings> = stages.iter().collect();
    let proof = judge(&ordinary, &[], &stages, false);
    assert_eq!(proof.blocks, 9);
    (proof, [all, names(&left)])
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
    assert!(matches!(&proof.outcome, Outcome::Refuted(found) if found.name() == "receiver_cpu"));
    let verdict = findings.explanation.cells[0].verdict().expect("a verdict");
    assert_eq!(
        (verdict.limiter().name(), verdict.confidence),
        ("receiver_cpu", Confidence::Proved)
    );
    assert!(verdict.chosen.detail.contains("sender's CPU"));
}

#[test]
fn nothing_is_proved_where_the_unchanged_runs_drift_or_differ_from_the_test() {
    let drifting = |run: u32, conditions: &Conditions| {
        sender_limits(run, conditions) * (1.0 + 0.01 * f64::from(run))
    };
    let (findings, drifted) = proof(drifting);
    assert!(matches!(&drifted.outcome, Outcome::Undecided(why) if why.contains("drift")));
    let verdict = findings.explanation.cells[0].verdict().expect("a verdict");
    assert_ne!(verdict.confidence, Confidence::Proved);
    // Only the test itself is this run alone.
    let slower = |run: u32, conditions: &Conditions| {
        let factor = if run == 0 { 0.3 } else { 1.0 };
        factor * sender_limits(run, conditions)
    };
    let (_, differs) = proof(slower);
    assert!(matches!(&differs.outcome, Outcome::Undecided(why) if why.contains("short runs")));
}

#[test]
fn without_a_suspect_more_blocks_decide_what_stood_out_in_one() {
    let (proof, [all, left]) = proof_without_suspect(receiver_limits, receiver_limits);
    assert!(all.len() > 3, "{all:?}");
    assert_eq!(left, ["receiver_cpu"]);
    assert!(matches!(&proof.outcome, Outcome::Found(found) if found.name() == "receiver_cpu"));
    for one in &proof.tried {
        let (decision, blocks) = match one.name {
            "receiver_cpu" => (Decision::Limits, 8),
            _ => (Decision::Open, 1),
        };
        assert_eq!((one.decision, one.blocks), (decision, blocks), "{one:?}");
    }
}

#[test]
fn all_that_were_screened_without_effect_are_decided() {
    let nothing_limits = |_: u32, _: &Conditions| 2000.0;
    let (proof, [all, left]) = proof_without_suspect(nothing_limits, receiver_limits);
    assert_eq!(left, all);
    assert!(matches!(&proof.outcome, Outcome::Found(found) if found.name() == "receiver_cpu"));
    let (proof, _) = proof_without_suspect(nothing_limits, nothing_limits);
    let is_left = |one: &Tried| one.decision == Decision::DoesNot && one.blocks == 8;
    assert!(proof.tried.iter().all(is_left), "{proof:?}");
    assert!(
        matches!(&proof.outcome, Outcome::Undecided(why) if why.contains("none of the resources")),
        "{proof:?}"
    );
}

#[test]
fn what_stands_out_by_chance_in_the_screening_block_is_not_found() {
    let (proof, [_, left]) = proof_without_suspect(receiver_limits, |_, _| 2000.0);
    assert_eq!(left, ["receiver_cpu"]);
    assert_eq!(proof.limiter(), None);
    let mut tried = proof.tried.iter();
    let receiver = tried.find(|one| one.name == "receiver_cpu");
    assert_eq!(receiver.expect("it").decision, Decision::DoesNot);
    assert!(
        matches!(&proof.outcome, Outcome::Undecided(why) if why.contains("none of the resources")),
        "{proof:?}"
    );
}

#[test]
fn what_more_blocks_leave_open_is_too_wide() {
    // In every second block it limits.
    let at_times = |run: u32, conditions: &Conditions| match run / 2 % 2 {
        0 => receiver_limits(run, conditions),
        _ => 2000.0,
    };
    let (proof, [_, left]) = proof_without_suspect(receiver_limits, at_times);
    assert_eq!(left, ["receiver_cpu"]);
    assert!(matches!(&proof.outcome, Outcome::Undecided(why) if why.contains("too wide")));
}

#[test]
fn what_throughput_follows_without_a_decision_is_likely() {
    // From block to block it follows more or less than what limits.
    let in_part = |run: u32, conditions: &Conditions| {
        let share = [0.6, 1.2][run as usize / 2 % 2];
        2000.0 + share * (receiver_limits(run, conditions) - 2000.0)
    };
    let (proof, _) = proof_without_suspect(receiver_limits, in_part);
    assert!(
        matches!(&proof.outcome, Outcome::Likely(likely, "receiver_cpu") if likely.name() == "receiver_cpu"),
        "{proof:?}"
    );
}
