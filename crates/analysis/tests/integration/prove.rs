//! Experiments on a verdict, with runs whose bottleneck is known because they are made up.

use crate::common::*;
use bitcost_analysis::experiment::{Base, Change, End, Proving, Round, Run};
use bitcost_analysis::explain::{Confidence, Decision, LIMITERS, Outcome, Proof};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::log::PlaceFacts;
use bitcost_model::event::{Event, FORMAT};
use bitcost_model::modes::Mode;
use bitcost_model::plan::{Lengths, Plan};
use bitcost_model::search::Goal;
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

/// A round of these changes, in this number of blocks, after this many runs.
fn round(
    base: &Base,
    (changes, blocks): (Vec<Change>, u32),
    first: u32,
    ns: impl Fn(u32, &Conditions) -> f64,
) -> Round {
    let changed = |change_: Option<&Change>| {
        let mut conditions = base.short();
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
    for event in events(&plan, |run, conditions| ns(first + run, conditions)) {
        if let Event::RunEnded {
            run,
            sender,
            receiver,
            ..
        } = event
        {
            let place = (run % count) as usize;
            let ends = [&*sender, &*receiver];
            let made = Run::of(
                PlaceFacts::new(false, &[], None),
                ends,
                &round.conditions[place],
            );
            round.runs[place].push(made);
        }
    }
    round
}

/// The experiments of a base, whose messages take `ns`.
fn made<'a>(base: &'a Base, ns: &dyn Fn(u32, &Conditions) -> f64) -> Proving<'a> {
    let mut proving = Proving::new(base, Vec::new());
    let mut first = 1;
    while let Some((changes, blocks)) = proving.next(30, &|_| Ok(())) {
        let made = round(base, (changes, blocks), first, ns);
        first += made.runs.iter().map(|runs| runs.len() as u32).sum::<u32>();
        proving.take(made);
    }
    proving
}

/// What experiments show of a test, whose messages take `tested`, where those of the short runs take `ns`.
fn proof_of(
    tested: impl Fn(u32, &Conditions) -> f64,
    ns: impl Fn(u32, &Conditions) -> f64,
) -> (Findings, Proof) {
    let mut findings = test(tested);
    let base = Base::of(&findings).expect("a test");
    let proof = made(&base, &ns).proof();
    findings.prove(proof.clone());
    let logged = serde_json::to_value(&proof).expect("JSON");
    let read: Proof = serde_json::from_value(logged).expect("a proof");
    assert_eq!(read, proof, "the log has it whole");
    (findings, proof)
}

fn proof(ns: impl Fn(u32, &Conditions) -> f64) -> (Findings, Proof) {
    proof_of(&ns, &ns)
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
    assert_eq!(first.blocks, 4);
    let others = proof.tried.iter().skip(1);
    assert!(others.clone().count() > 0);
    for other in others {
        assert_eq!(
            (other.limits, other.blocks),
            (Decision::DoesNot, 1),
            "{other:?}"
        );
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
fn nothing_is_proved_where_the_short_runs_differ_from_the_test() {
    // Only the test itself is this run alone.
    let slower = |run: u32, conditions: &Conditions| {
        let factor = if run == 0 { 0.3 } else { 1.0 };
        factor * sender_limits(run, conditions)
    };
    let (findings, differs) = proof(slower);
    assert_undecided(&differs, "short runs");
    let verdict = findings.explanation.cells[0].verdict().expect("a verdict");
    assert_ne!(verdict.confidence, Confidence::Proved);
}

#[test]
fn nothing_is_tried_on_an_end_that_stands_still() {
    let mut base = Base::of(&test(sender_limits)).expect("a test");
    for name in ["paused", "disk"] {
        let row = LIMITERS.into_iter().find(|row| row.name == name);
        base.named = row.map(|row| row.placed("of the sender"));
        let mut proving = Proving::new(&base, Vec::new());
        assert!(proving.next(30, &|_| Ok(())).is_none());
        assert_undecided(&proving.proof(), "stands still");
    }
}

#[test]
fn what_makes_it_faster_is_the_remedy() {
    let faster = |run: u32, conditions: &Conditions| match conditions.flows {
        1 => sender_limits(run, conditions),
        flows => sender_limits(run, conditions) / f64::from(flows),
    };
    let (findings, proof) = proof(faster);
    assert_eq!(proof.outcome, Outcome::Proved, "{proof:?}");
    let first = &findings.explanation.cells[0].remedies[0];
    assert_eq!(first.words, "4 flows");
    let gain = first.gain.expect("it was tried").value;
    assert!((gain - 4.0).abs() < 0.1, "{gain}");
}

/// More flows gain most, and are tried last.
#[test]
fn what_makes_it_better_is_kept_and_nothing_is_taken_away() {
    let mut base = Base::of(&test(sender_limits)).expect("a test");
    base.goal = Some(Goal::Rate);
    let faster = |run: u32, conditions: &Conditions| {
        let is_plain = conditions.send_mode == Mode::Plain;
        let calls = if is_plain { 1.0 } else { 1.1 };
        sender_limits(run, conditions) / f64::from(conditions.flows) / calls
    };
    let proving = made(&base, &faster);
    let (change, tried) = proving.fastest().expect("a gain");
    assert!(change.how.settings.contains_key("send_mode"), "{change:?}");
    assert!((tried.rate.value - 1.1).abs() < 0.02, "{tried:?}");
    assert_eq!(tried.blocks, 4);
    assert_eq!(proving.end(), End::Early, "there is a next step");
    let nothing = made(&base, &|_, _| 2000.0);
    assert!(nothing.fastest().is_none());
    assert_eq!(nothing.end(), End::Complete);
    let tried = nothing.proof().tried;
    assert!(tried.iter().all(|one| one.elasticity.is_none()));
    assert!(tried.iter().any(|one| one.label == "4 flows"), "{tried:?}");
}

#[test]
fn what_stands_out_once_by_chance_is_not_proved() {
    let once = |run: u32, conditions: &Conditions| match run < 10 {
        true => sender_limits(run, conditions),
        false => 2000.0,
    };
    let (_, proof) = proof_of(sender_limits, once);
    assert_eq!(proof.limiter(), None, "{proof:?}");
    let mut tried = proof.tried.iter();
    let sender = tried.find(|one| one.label == "sender_cpu").expect("it");
    assert_ne!(sender.limits, Decision::Limits);
}

#[test]
fn where_nothing_has_an_effect_the_path_is_left() {
    let (_, proof) = proof(|_, _| 2000.0);
    assert!(
        matches!(&proof.outcome, Outcome::Likely(left, why) if left.is_on_the_path() && why.contains("4 flows")),
        "{proof:?}"
    );
}

/// Whatever a path does by itself, in steps as long as a run or longer, in at most one of a hundred it proves something.
#[test]
fn a_path_that_changes_by_itself_proves_nothing() {
    let (mut proved, mut undecided) = (0, 0);
    for seed in 0..600_u32 {
        let hash = |number: u32| {
            let mixed = (number ^ seed.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
            (mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae35) >> 16
        };
        let (length, kinds) = (1 + seed % 3, 2 + seed / 3 % 3);
        let by_itself =
            |run: u32, _: &Conditions| 2000.0 * f64::from(1 + 2 * (hash(run / length) % kinds));
        let (_, proof) = proof(by_itself);
        proved += u32::from(proof.limiter().is_some());
        undecided += u32::from(matches!(proof.outcome, Outcome::Undecided(_)));
    }
    assert!(proved <= 6 && undecided > 450, "{proved}, {undecided}");
}
