//! Verdicts over recorded noise: how often one setting is called the same, and how often a planted
//! change is found.

// The test harness reads what a test prints.
#![allow(clippy::disallowed_macros)]

use crate::common::*;
use bitcost_analysis::compare::{Comparison, Shift, Verdict, across};
use bitcost_analysis::metrics::Better;
use bitcost_model::counters::CoreToCore;
use bitcost_render::block::markdown;
use bitcost_render::comparison::comparison;
use bitcost_render::document::value;
use bitcost_stats::{Interval, Scale, Sides};
use insta::assert_snapshot;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Runs of one setting, twice in each of 11 blocks, windows of 1 s, in the lab on the machine of
/// the README (Linux 6.18, 2 CPUs): UDP and TCP with offloads on and off, of which TCP has two
/// modes.
const NOISE: &str = include_str!("../fixtures/noise.csv");

/// Receive service demand in µs/KiB of 20 consecutive runs of one setting: UDP, 1024 B, windows of
/// 2 s, in the same lab, interleaved with another cell; run 1 was disturbed.
const STEADY: [f64; 20] = [
    1.6344, 1.7621, 1.7200, 1.7427, 1.7572, 1.7691, 1.7583, 1.7104, 1.7722, 1.7531, 1.7477, 1.7124,
    1.7527, 1.7526, 1.7219, 1.7285, 1.6994, 1.7001, 1.7695, 1.7675,
];

/// The number of comparisons that are simulated for each figure.
const DRAWN: usize = 1000;

struct Draw(ChaCha8Rng);

impl Draw {
    fn runs(&mut self, noise: &[f64], count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| noise[self.0.next_u32() as usize % noise.len()])
            .collect()
    }
}

/// Name and values of each recorded series.
pub(crate) fn recorded() -> Vec<(String, Vec<f64>)> {
    let mut lines = NOISE
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let columns = lines.next().expect("names");
    let mut series = vec![("UDP 1024, 2 s".to_owned(), STEADY.to_vec())];
    for row in lines {
        for (name, value) in columns
            .iter()
            .zip(&row)
            .skip(3)
            .filter(|(_, value)| !value.is_empty())
        {
            let name = format!("{} {name}", row[0]);
            let value = value.parse().expect("a number");
            match series.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => series.push((name, vec![value])),
            }
        }
    }
    series
}

/// How often, in per cent, a setting compared with itself is called the same, how often it is
/// called better or worse, and how often a change of 5 % is found.
struct Rates {
    same: f64,
    wrong: f64,
    found: f64,
}

/// The change in per cent from an old to a new side.
type How = fn(&[f64], &[f64]) -> Interval;

fn rates(noise: &[f64], blocks: usize, how: How) -> Rates {
    let mut draw = Draw(ChaCha8Rng::seed_from_u64(blocks as u64));
    let [mut same, mut wrong, mut found] = [0; 3];
    for _ in 0..DRAWN {
        let (old, new) = (draw.runs(noise, blocks), draw.runs(noise, blocks));
        let planted: Vec<f64> = new.iter().map(|value| value * 1.05).collect();
        let verdict = |new: &[f64]| Verdict::of(&how(&old, new), Better::Lower, 3.0);
        match verdict(&new) {
            Verdict::Same => same += 1,
            Verdict::Better | Verdict::Worse => wrong += 1,
            _ => {}
        }
        found += usize::from(verdict(&planted) == Verdict::Worse);
    }
    let [same, wrong, found] =
        [same, wrong, found].map(|count| 100.0 * count as f64 / DRAWN as f64);
    Rates { same, wrong, found }
}

/// The spread of the logarithms, in per cent.
fn spread(noise: &[f64]) -> f64 {
    let mean = noise.iter().map(|value| value.ln()).sum::<f64>() / noise.len() as f64;
    let squares: f64 = noise.iter().map(|value| (value.ln() - mean).powi(2)).sum();
    100.0 * (squares / (noise.len() - 1) as f64).sqrt()
}

fn in_blocks(old: &[f64], new: &[f64]) -> Interval {
    let pairs: Vec<(usize, usize)> = (0..old.len()).map(|block| (block, block)).collect();
    let sides = Sides::of(old, new, Scale::Ratio).expect("values");
    let found = sides.paired_change(&pairs).unwrap_or(sides.change());
    Shift::Ratio(found.interval).change()
}

fn apart(old: &[f64], new: &[f64]) -> Interval {
    let sides = Sides::of(old, new, Scale::Ratio).expect("values");
    Shift::Ratio(sides.change().interval).change()
}

/// Prints the figures of docs/method/compare.md:
/// `cargo test -p bitcost-render --test integration recorded -- --nocapture`.
#[test]
fn verdicts_over_recorded_noise_are_seldom_wrong() {
    let mut wrong_of_five = Vec::new();
    println!(
        "| noise | spread | blocks | same setting: same | better or worse | 5 % planted: found |"
    );
    for (name, noise) in recorded() {
        let spread = spread(&noise);
        for blocks in [5, 10] {
            let Rates { same, wrong, found } = rates(&noise, blocks, in_blocks);
            println!(
                "| {name} | {spread:.1} % | {blocks} | {same:.0} % | {wrong:.1} % | {found:.0} % |"
            );
            let most = 8.0;
            wrong_of_five.extend((blocks == 5).then_some(wrong));
            assert!(
                wrong <= most,
                "{name}, {blocks} blocks: {wrong} % are wrong"
            );
            let (least_same, least_found) = match spread {
                ..2.05 => (90.0, 85.0),
                ..2.5 if blocks == 10 => (90.0, 90.0),
                ..2.5 => (75.0, 70.0),
                _ => (0.0, 0.0),
            };
            assert!(
                same >= least_same && found >= least_found,
                "{name}, {blocks} blocks: same {same} %, found {found} %"
            );
            let apart = rates(&noise, blocks, apart);
            assert!(
                apart.wrong <= most,
                "{name}, executions of {blocks} runs: {} % are wrong",
                apart.wrong
            );
        }
    }
    let mean = wrong_of_five.iter().sum::<f64>() / wrong_of_five.len() as f64;
    println!(
        "five blocks, {} series: {mean:.1} % are wrong",
        wrong_of_five.len()
    );
    assert!(mean <= 5.0, "{mean} % are wrong in the mean");
}

fn made(factor: f64) -> Vec<Event> {
    log(STUDY, 5, |cell, planned| {
        let mut did = plain(cell, planned);
        did.received_mbps *= factor;
        did.sent_mbps *= factor;
        ended(cell, &did)
    })
}

#[test]
fn cells_match_by_levels_and_hosts_differences_come_first() {
    let (old, new) = (made(1.0), made(0.8));
    let new = on_host(new, |host| host.kernel = "7.0".into());
    let found = compared(("old", &old), ("new", &new), &throughput());
    assert_eq!(found.cells.len(), 4);
    assert_counts(&found, &[(Verdict::Worse, 4)]);
    assert_snapshot!(comparison_text(&found, 80));
    let json = value(&found);
    assert_eq!(json["cells"][0]["changes"][0]["verdict"], "worse");
    let same = compared(("old", &old), ("new", &old), &throughput());
    assert_counts(&same, &[(Verdict::Same, 4)]);
}

#[test]
fn executions_of_a_side_are_compared_with_its_first() {
    let on = |name, cpu: &str| {
        let events = on_host(made(1.0), |host| host.cpu_model = Some(cpu.into()));
        execution(name, &events)
    };
    let old = [on("a", "one"), on("b", "another")];
    let found = across(&old, &[on("c", "one")], &throughput(), 3.0);
    let differs = "a → b: sender: CPU model: was one, is another";
    assert_eq!(found.host_differences, [differs]);
}

/// Rates that fall with the distance of the endpoints' CPUs, which varies from run to run.
fn at_distances(more_ns: u32, factor: f64) -> Vec<Event> {
    altered(STUDY, 5, |_, planned, sender, receiver| {
        let ns = 50 + 90 * (planned.block * planned.block % 5) + more_ns;
        sender.core_to_core = Some(CoreToCore {
            cpus: [0, 1],
            round_trip_ns: vec![ns],
        });
        let bytes = &mut receiver.counts.measured.bytes;
        *bytes = (*bytes as f64 * factor * (-f64::from(ns) / 1000.0).exp()) as u64;
    })
}

#[test]
fn changes_are_those_at_equal_distance_of_the_cpus() {
    let near = at_distances(0, 1.0);
    let judged = |new: &[Event]| compared(("near", &near), ("far", new), &throughput());
    let far = judged(&at_distances(100, 1.0));
    assert_counts(&far, &[(Verdict::Same, 4)]);
    assert!(far.changes().all(|change| change.is_adjusted));
    let differs = |found: &Comparison| {
        found
            .run_remarks
            .iter()
            .any(|of| of.contains("machine differed"))
    };
    assert!(!differs(&far), "{:?}", far.run_remarks);
    let worse = judged(&at_distances(100, 0.9));
    assert_counts(&worse, &[(Verdict::Worse, 4)]);
    let says_so = |found| printed(&comparison(found, false), USUAL).contains("adjusted");
    assert_eq!([&worse, &far].map(says_so), [true, false]);
    let governed = on_host(at_distances(100, 1.0), |host| {
        host.governor = Some("powersave".into());
    });
    let found = judged(&governed);
    assert!(found.changes().all(|change| !change.is_adjusted));
    assert!(differs(&found), "{:?}", found.run_remarks);
}

#[test]
fn within_an_execution_blocks_are_paired() {
    let found = inside(&made(1.0), size(1024), size(8192));
    assert_eq!(found.cells.len(), 2);
    assert_counts(&found, &[(Verdict::Better, 2)]);
    let first = &found.cells[0].changes[0];
    let ratio = first.shift.expect("a ratio").change();
    assert!(
        first.is_paired && (ratio.low.expect("bounds") - 100.0).abs() < 1e-4,
        "what blocks share cancels: {ratio:?}"
    );
}

#[test]
fn nothing_can_be_told_of_single_runs_and_of_zero() {
    let one = whole(STUDY, 1);
    let metrics = metrics(["throughput_mbps", "loss_pct"]);
    let found = compared(("a", &one), ("b", &made(0.5)), &metrics);
    assert_counts(&found, &[(Verdict::Worse, 0)]);
    assert!(found.count(Verdict::CannotTell) >= 4);
    let itself = compared(("a", &one), ("b", &one), &metrics);
    assert_counts(&itself, &[(Verdict::CannotTell, itself.changes().count())]);
    let none = log(STUDY, 1, |_, _| Made::Missing);
    let empty = compared(("a", &none), ("b", &none), &metrics);
    let text = comparison_text(&empty, u16::MAX);
    assert_eq!(text.lines().next(), Some("Nothing could be compared."));
}

#[test]
fn what_the_new_side_lacks_is_missing() {
    let metrics = metrics(["throughput_mbps", "loss_pct"]);
    let whole = made(1.0);
    let without_udp = log(STUDY, 5, |cell, planned| {
        match is(cell, "transport", "UDP") {
            true => Made::Failed(FailureKind::Failed, "the end died"),
            false => ended(cell, &plain(cell, planned)),
        }
    });
    let lost = compared(("whole", &whole), ("without", &without_udp), &metrics);
    // The changes are throughput and loss at each of two sizes; the others are the same.
    assert_counts(&lost, &[(Verdict::Missing, 4), (Verdict::Same, 2)]);
    let json = value(&lost);
    assert_eq!(json["judged_together"], 2);
    assert_snapshot!(pretty(&json["cells"][0]["changes"][0]));
    let found = compared(("without", &without_udp), ("whole", &whole), &metrics);
    let counts = [Verdict::Missing, Verdict::CannotTell, Verdict::New];
    assert_counts(
        &found,
        &counts.map(|of| (of, 4 * usize::from(of == Verdict::New))),
    );
}

/// Every UDP run loses the share that `lost_pct` gives for its block.
fn losing(lost_pct: impl Fn(u32) -> f64) -> Vec<Event> {
    log(STUDY, 5, |cell, planned| {
        let mut did = plain(cell, planned);
        did.received_mbps = did.sent_mbps * (1.0 - lost_pct(planned.block) / 100.0);
        ended(cell, &did)
    })
}

#[test]
fn what_has_no_ratio_is_told_in_its_unit() {
    let metrics = metrics(["loss_pct"]);
    let judged = |old: &[Event], new: &[Event]| compared(("old", old), ("new", new), &metrics);
    let (none, most) = (made(1.0), losing(|block| 60.0 + f64::from(block)));
    let worse = judged(&none, &most);
    assert_counts(&worse, &[(Verdict::Worse, 2)]);
    let first = value(&worse)["cells"][0]["changes"][0].clone();
    assert!(first.get("ratio").is_none(), "{first}");
    let text = comparison_text(&worse, 120);
    assert_snapshot!(format!("{text}\n{}", pretty(&first["difference"])));
    assert_counts(&judged(&most, &none), &[(Verdict::Better, 2)]);
    assert_counts(&judged(&none, &none), &[(Verdict::Same, 2)]);
    // Ten times a loss that is close to 0.
    let more = losing(|block| 0.04 + f64::from(block) / 1000.0);
    assert_counts(&judged(&losing(|_| 0.004), &more), &[(Verdict::Same, 2)]);
}

#[test]
fn words_of_a_log_stay_in_their_line() {
    let (old, new) = (made(1.0), made(1.0));
    let new = on_host(new, |host| host.kernel = "9\u{1b}[31m\n# head|<b>".into());
    let found = compared(("old\n", &old), ("new", &new), &throughput());
    let text = comparison_text(&found, u16::MAX);
    let markdown = markdown(&comparison(&found, true));
    assert!(!text.contains('\u{1b}') && !markdown.contains("<b>"));
    assert!(!text.contains("\n# head") && !markdown.contains("\n# head"));
    // A list ends at a blank line.
    assert_snapshot!(format!("{text}\n{markdown}"));
}

#[test]
fn a_comparison_fits_the_terminal() {
    let (old, new) = (made(1.0), made(0.8));
    let metrics = metrics([
        "throughput_mbps",
        "netperf_receive_service_demand_us_per_kib",
    ]);
    let found = compared(("old", &old), ("new", &new), &metrics);
    let widest = |width| {
        let text = comparison_text(&found, width);
        let lines = text.lines().map(|line| line.chars().count());
        lines.max().expect("lines")
    };
    for width in [48, 60, 80, 120] {
        assert!(widest(width) <= usize::from(width), "{width}");
    }
    assert!(widest(u16::MAX) > 120);
}
