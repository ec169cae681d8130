//! Verdicts over recorded noise: how often one setting is called the same, and how often a planted change is found.

mod common;

use common::{Did, Made, STUDY, ended, log, plain, summary};
use metrics::{Better, metric};
use model::event::Event;
use model::study::Label;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use report::compare::{Side, Verdict, across, comparison_json, comparison_text, within};
use report::frame::Execution;

/// Receive service demand in µs/KiB of 20 consecutive runs of one setting: UDP, 1024 B, windows of 2 s, in the lab on the
/// machine of the README (Linux 6.18, 2 CPUs), interleaved with another cell; run 1 was disturbed.
const NOISE: [f64; 20] = [
    1.6344, 1.7621, 1.7200, 1.7427, 1.7572, 1.7691, 1.7583, 1.7104, 1.7722, 1.7531, 1.7477, 1.7124, 1.7527, 1.7526,
    1.7219, 1.7285, 1.6994, 1.7001, 1.7695, 1.7675,
];

fn verdict(ratio: Option<stats::Interval>) -> Verdict {
    Verdict::of(&ratio.expect("values"), Better::Lower, 3.0)
}

struct Draw(ChaCha8Rng);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0.next_u32() as usize % bound
    }

    fn runs(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| NOISE[self.below(NOISE.len())]).collect()
    }
}

#[test]
fn two_executions_of_one_setting_are_the_same() {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(1));
    let mut same = 0;
    for seed in 0..100 {
        let (old, new) = (draw.runs(10), draw.runs(10));
        same += usize::from(verdict(stats::change(&old, &new, seed)) == Verdict::Same);
    }
    assert!(same >= 95, "{same} of 100");
}

#[test]
fn a_planted_change_is_found_with_five_blocks() {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(2));
    let (mut worse, mut same) = (0, 0);
    for seed in 0..100 {
        // Runs that followed each other make a block, so that what a block does to both is in it.
        let mut block = |factor: f64| {
            let first = draw.below(NOISE.len() - 1);
            let (a, b) = (NOISE[first], NOISE[first + 1]);
            if draw.below(2) == 0 { (a, b * factor) } else { (b, a * factor) }
        };
        let planted: Vec<(f64, f64)> = (0..5).map(|_| block(1.05)).collect();
        let none: Vec<(f64, f64)> = (0..5).map(|_| block(1.0)).collect();
        worse += usize::from(verdict(stats::paired_change(&planted, seed)) == Verdict::Worse);
        same += usize::from(verdict(stats::paired_change(&none, seed)) == Verdict::Same);
    }
    assert!(worse >= 90, "worse in {worse} of 100");
    assert!(same >= 95, "same in {same} of 100");
}

fn execution<'a>(name: &str, events: &'a [Event]) -> Execution<'a> {
    Execution { name: name.into(), events, summary: summary(events) }
}

fn made(factor: f64) -> Vec<Event> {
    log(STUDY, 5, |cell, planned| {
        let did = plain(cell, planned);
        ended(cell, &Did { received_mbps: did.received_mbps * factor, sent_mbps: did.sent_mbps * factor, ..did })
    })
}

#[test]
fn cells_match_by_levels_and_hosts_differences_come_first() {
    let (old, mut new) = (made(1.0), made(0.8));
    for event in &mut new {
        if let Event::Prepared { ends, .. } = event {
            ends[0].host.kernel = "7.0".into();
        }
    }
    let metrics = [metric("throughput_mbps").expect("a metric")];
    let found = across(&execution("old", &old), &execution("new", &new), &metrics, 3.0);
    assert_eq!((found.cells.len(), found.count(Verdict::Worse)), (4, 4), "{found:?}");
    let text = comparison_text(&found);
    let (hosts, first) = (text.find("hosts differ: sender: kernel"), text.find("1024 · UDP"));
    assert!(hosts.is_some() && hosts < first, "{text}");
    assert!(text.contains("-20.0") && text.ends_with("4 worse\n"), "{text}");
    let json = comparison_json(&found);
    assert_eq!(json["cells"][0]["changes"][0]["verdict"], "worse");
    let same = across(&execution("old", &old), &execution("new", &old), &metrics, 3.0);
    assert_eq!(same.count(Verdict::Same), 4, "{}", comparison_text(&same));
}

#[test]
fn within_an_execution_blocks_are_paired() {
    let events = made(1.0);
    let side = |bytes| Side(vec![("message_size_bytes".to_owned(), Label::Number(bytes))]);
    let metrics = [metric("throughput_mbps").expect("a metric")];
    let found = within(&execution("x", &events), &side(1024), &side(8192), &metrics, 3.0);
    assert_eq!((found.cells.len(), found.count(Verdict::Better)), (2, 2), "{}", comparison_text(&found));
    let ratio = found.cells[0].changes[0].ratio.expect("a ratio");
    assert!((ratio.low.expect("bounds") - 2.0).abs() < 1e-6, "what blocks have in common cancels: {ratio:?}");
}

#[test]
fn nothing_can_be_told_of_single_runs_and_of_zero() {
    let one = log(STUDY, 1, |cell, planned| ended(cell, &plain(cell, planned)));
    let metrics = [metric("throughput_mbps").expect("a metric"), metric("loss_pct").expect("a metric")];
    let found = across(&execution("a", &one), &execution("b", &made(0.5)), &metrics, 3.0);
    assert_eq!(found.count(Verdict::Worse), 0, "{}", comparison_text(&found));
    assert!(found.count(Verdict::CannotTell) >= 4);
    let none = log(STUDY, 1, |_, _| Made::Missing);
    let empty = across(&execution("a", &none), &execution("b", &one), &metrics, 3.0);
    assert!(comparison_text(&empty).ends_with("nothing to compare\n"));
}
