//! Experiments on a verdict, with runs whose bottleneck is known because they are made up.

use crate::common::*;
use bitcost_analysis::experiment::{
    Base, Change, Round, Run, judge, needs_screening, standing_out, tightening,
};
use bitcost_analysis::explain::{Confidence, Decision, Outcome, Proof, Tried};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::log::PlaceFacts;
use bitcost_model::event::{Event, FORMAT};
use bitcost_model::plan::{Lengths, Plan};
use bitcost_model::settings::{SETTINGS, change};
use bitcost_model::study::Cell;
use bitcost_study::Single;

use crate::executions::{Pace, events_of, in_blocks};

const BYTES: u64 = 1000;

/// The events of a plan whose messages take this long.
fn events(plan: &Plan, ns: impl Fn(u32, &Conditions) -> f64) -> Vec<Event> {
    events_of(plan, |run: u32, cell: &Cell| {
        let noise = 1.0 + 0.004 * f64::from(run * 7 % 5);
        Pace {
            bytes: (1e8 / (ns(run, &cell.conditions) * noise)) as u64 * BYTES,
            run_ns: 99_000_000,
            busy_ticks: 10,
        }
    })
}

fn test(ns: impl Fn(u32, &Conditions) -> f64) -> Findings {
    let settings = [("message_size_bytes", "1000"), ("send_work_ns", "1500")];
    let settings = settings.map(|(name, value)| {
        let found = SETTINGS.iter().find(|setting| setting.name == name);
        (found.expect("a setting"), value.to_owned())
    });
    let mut conditions = Conditions::of(Workload::UdpStream);
    for (setting, value) in &settings {
        setting.set_text(&mut conditions, value).expect("possible");
    }
    let single = Single {
        conditions: &conditions,
        settings: &settings,
        lab: None,
        runs: 1,
        until: None,
    };
    let study = single.study().expect("a study");
    let plan = study.plan(1, Lengths::default());
    let mut all = vec![Event::ExecutionBegan {
        format: FORMAT,
        bitcost_version: "0".to_owned(),
        at: "2026-11-25T12:00:00+00:00".to_owned(),
        command_line: Vec::new(),
        study: study.name.clone(),
        study_text: study.text.clone(),
        lab_text: None,
    }];
    all.extend(events(&plan, ns));
    Findings::of_events("test".to_owned(), all).expect("findings")
}

/// A round of these changes, in this number of blocks.
fn round(
    base: &Base,
    changes: Vec<Change>,
    blocks: u32,
    ns: impl Fn(u32, &Conditions) -> f64,
) -> Round {
    let changed = |change_: Option<&Change>| {
        let mut conditions = base.short(blocks == 1);
        for (name, value) in change_.into_iter().flat_map(|one| &one.how.settings) {
            change(&mut conditions, name, value).expect("possible");
        }
        conditions
    };
    let all = std::iter::once(None).chain(changes.iter().map(Some));
    let conditions: Vec<Conditions> = all.map(changed).collect();
    let count = conditions.len() as u32;
    let cell = |conditions: &Conditions| Cell {
        levels: Vec::new(),
        conditions: conditions.clone(),
    };
    let plan = in_blocks(conditions.iter().map(cell).collect(), blocks);
    let mut round = Round::new(changes, conditions);
    for event in events(&plan, ns) {
        if let Event::RunEnded {
            run,
            sender,
            receiver,
            ..
        } = event
        {
            let place = (run % count) as usize;
            let ends = [&*sender, &*receiver];
            let made = Run::of(PlaceFacts::new(false, &[]), ends, &round.conditions[place]);
            round.runs[place].push(made);
        }
    }
    round
}

/// What experiments show of a test whose messages take this long.
fn proof(ns: impl Fn(u32, &Conditions) -> f64) -> (Findings, Proof) {
    let mut findings = test(&ns);
    let base = Base::of(&findings).expect("a test");
    let offers = tightening(&base, &[], &|_| Ok(()));
    assert!(!needs_screening(&base, &offers.changes));
    let round = round(&base, offers.changes, 8, &ns);
    let proof = judge(&base, &offers.untried, &[&round], false);
    findings.prove(proof.clone());
    let logged = serde_json::to_value(&proof).expect("JSON");
    let read: Proof = serde_json::from_value(logged).expect("a proof");
    assert_eq!(read, proof, "the log has it whole");
    (findings, proof)
}

/// What experiments show of a test without a suspect whose messages take `screened` in the block that screens, and
/// `decided` in the test and in the blocks that decide; with the names of what was screened and of what stood out.
fn proof_without_suspect(
    screened: impl Fn(u32, &Conditions) -> f64,
    decided: impl Fn(u32, &Conditions) -> f64,
) -> (Proof, [Vec<String>; 2]) {
    let findings = test(&decided);
    let mut base = Base::of(&findings).expect("a test");
    (base.named, base.next) = (None, Vec::new());
    let changes = tightening(&base, &[], &|_| Ok(())).changes;
    assert!(needs_screening(&base, &changes));
    assert_ne!(base.short(true), base.short(false));
    let names = |changes: &[Change]| -> Vec<String> {
        changes.iter().map(|one| one.name().to_owned()).collect()
    };
    let all = names(&changes);
    let screening = round(&base, changes.clone(), 1, screened);
    let first = judge(&base, &[], &[&screening], false);
    assert!(first.tried.iter().all(|one| one.limits == Decision::Open));
    assert!(matches!(first.outcome, Outcome::Undecided(_)), "{first:?}");
    let left = standing_out(changes, &first.tried);
    let left_names = names(&left);
    let deciding = round(&base, left, 8, decided);
    let proof = judge(&base, &[], &[&screening, &deciding], false);
    assert_eq!(proof.blocks, 9);
    (proof, [all, left_names])
}

#[track_caller]
fn assert_undecided(proof: &Proof, reason: &str) {
    let is_given = matches!(&proof.outcome, Outcome::Undecided(why) if why.contains(reason));
    assert!(is_given, "{proof:?}");
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
        (&*first.label, first.limits),
        ("sender_cpu", Decision::Limits)
    );
    let elasticity = first.elasticity.expect("an elasticity").value;
    assert!((elasticity - 1.0).abs() < 0.1, "{elasticity}");
    let others = proof.tried.iter().skip(1);
    assert!(others.clone().count() > 0);
    for other in others {
        assert_eq!(other.limits, Decision::DoesNot, "{other:?}");
    }
    let verdict = findings.explanation.cells[0].verdict().expect("a verdict");
    assert_eq!(verdict.limiter().name(), "sender_cpu");
    assert_eq!(verdict.confidence, Confidence::Proved);
}

#[test]
fn a_wrong_verdict_is_refuted_and_replaced() {
    let (findings, proof) = proof(receiver_limits);
    let named = proof.named.as_ref().map(|named| named.name());
    assert_eq!(named, Some("sender_cpu"));
    assert!(matches!(&proof.outcome, Outcome::Refuted(found) if found.name() == "receiver_cpu"));
    let verdict = findings.explanation.cells[0].verdict().expect("a verdict");
    assert_eq!(verdict.limiter().name(), "receiver_cpu");
    assert_eq!(verdict.confidence, Confidence::Proved);
    assert!(verdict.chosen.detail.contains("sender's CPU"));
}

#[test]
fn nothing_is_proved_where_the_unchanged_runs_drift_or_differ_from_the_test() {
    let drifting = |run: u32, conditions: &Conditions| {
        sender_limits(run, conditions) * (1.0 + 0.01 * f64::from(run))
    };
    let (findings, drifted) = proof(drifting);
    assert_undecided(&drifted, "drift");
    let verdict = findings.explanation.cells[0].verdict().expect("a verdict");
    assert_ne!(verdict.confidence, Confidence::Proved);
    // Only the test itself is this run alone.
    let slower = |run: u32, conditions: &Conditions| {
        let factor = if run == 0 { 0.3 } else { 1.0 };
        factor * sender_limits(run, conditions)
    };
    let (_, differs) = proof(slower);
    assert_undecided(&differs, "short runs");
}

#[test]
fn without_a_suspect_more_blocks_decide_what_stood_out_in_one() {
    let (proof, [all, left]) = proof_without_suspect(receiver_limits, receiver_limits);
    assert!(all.len() > 3, "{all:?}");
    assert_eq!(left, ["receiver_cpu"]);
    assert!(matches!(&proof.outcome, Outcome::Found(found) if found.name() == "receiver_cpu"));
    for one in &proof.tried {
        let (decision, blocks) = match &*one.label {
            "receiver_cpu" => (Decision::Limits, 8),
            _ => (Decision::Open, 1),
        };
        assert_eq!((one.limits, one.blocks), (decision, blocks), "{one:?}");
    }
}

#[test]
fn all_that_were_screened_without_effect_are_decided() {
    let nothing_limits = |_: u32, _: &Conditions| 2000.0;
    let (proof, [all, left]) = proof_without_suspect(nothing_limits, receiver_limits);
    assert_eq!(left, all);
    assert!(matches!(&proof.outcome, Outcome::Found(found) if found.name() == "receiver_cpu"));
    let (proof, _) = proof_without_suspect(nothing_limits, nothing_limits);
    let is_left = |one: &Tried| one.limits == Decision::DoesNot && one.blocks == 8;
    assert!(proof.tried.iter().all(is_left), "{proof:?}");
    assert_undecided(&proof, "none of the resources");
}

#[test]
fn what_stands_out_by_chance_in_the_screening_block_is_not_found() {
    let (proof, [_, left]) = proof_without_suspect(receiver_limits, |_, _| 2000.0);
    assert_eq!(left, ["receiver_cpu"]);
    assert_eq!(proof.limiter(), None);
    let mut tried = proof.tried.iter();
    let receiver = tried.find(|one| one.label == "receiver_cpu");
    assert_eq!(receiver.expect("it").limits, Decision::DoesNot);
    assert_undecided(&proof, "none of the resources");
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
    assert_undecided(&proof, "too wide");
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
        matches!(&proof.outcome, Outcome::Likely(likely, name) if likely.name() == *name && name == "receiver_cpu"),
        "{proof:?}"
    );
}
