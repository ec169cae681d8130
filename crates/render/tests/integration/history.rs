//! `bitcost history`: when the metrics of made-up executions changed, and what changed on the hosts.

// The test harness reads what a test prints.
#![allow(clippy::disallowed_macros)]

use crate::common::{Did, STUDY, ended, findings, log, plain};
use crate::compare::recorded;
use bitcost_analysis::compare::{Verdict, compared_metrics};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::history::{History, HistoryError, history};
use bitcost_model::counters::{CoreToCore, CpuSpeed};
use bitcost_model::event::Event;
use bitcost_render::history::{history_json, history_markdown, history_text};
use bitcost_stats::{change_points, median, median_interval};
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// What an execution found: its throughput, and its machine.
#[derive(Clone, Copy)]
struct Made {
    day: u32,
    factor: f64,
    kernel: &'static str,
    loop_ns: u32,
    trip_ns: u32,
}

/// An execution of a day, with noise of up to 1 % in each cell.
fn made(day: u32) -> Made {
    Made {
        day,
        factor: 1.0,
        kernel: "6.12.41 #1 SMP",
        loop_ns: 4000,
        trip_ns: 88,
    }
}

/// A number from −1 to 1 that is the same for the same execution and cell.
fn noise(day: u32, cell: usize) -> f64 {
    let mixed = (u64::from(day) * 31 + cell as u64 + 7).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 40) as f64 / (1_u64 << 23) as f64 - 1.0
}

fn execution(study: &str, made: Made) -> Findings {
    let mut events = log(study, 3, |cell, planned| {
        let factor = made.factor * (1.0 + noise(made.day, planned.cell) / 100.0);
        let did = plain(cell, planned);
        ended(
            cell,
            &Did {
                received_mbps: did.received_mbps * factor,
                sent_mbps: did.sent_mbps * factor,
                ..did
            },
        )
    });
    let began = format!("2026-10-{:02}T10:00:00+02:00", made.day);
    for event in &mut events {
        match event {
            Event::ExecutionBegan { at, .. } | Event::RunBegan { at, .. } => at.clone_from(&began),
            Event::Prepared { endpoints, .. } => {
                for end in endpoints {
                    end.host.kernel = made.kernel.into();
                }
            }
            Event::RunEnded { sender, .. } => {
                sender.speed = vec![CpuSpeed {
                    cpu: 0,
                    loop_ns: vec![made.loop_ns; 3],
                }];
                sender.core_to_core = Some(CoreToCore {
                    cpus: [0, 1],
                    round_trip_ns: vec![made.trip_ns; 3],
                });
            }
            _ => {}
        }
    }
    Findings {
        name: format!("day-{}", made.day),
        ..findings(&events)
    }
}

fn of(made: &[Made]) -> History {
    let all: Vec<Findings> = made.iter().map(|made| execution(STUDY, *made)).collect();
    let metrics = compared_metrics(&[&all[0].summary]);
    history(&all, &metrics, 3.0).expect("a history")
}

/// Eight executions, of which those from the fifth on have another kernel and are slower.
fn slower() -> Vec<Made> {
    let of_day = |day| match day {
        1..=4 => made(day),
        _ => Made {
            factor: 0.8,
            kernel: "6.12.44 #1 SMP",
            ..made(day)
        },
    };
    (1..=8).map(of_day).collect()
}

#[test]
fn a_change_is_found_with_what_changed_on_the_hosts() {
    // The order in which they are named does not matter.
    let mut made = slower();
    made.rotate_left(3);
    let found = of(&made);
    let [point] = &found.points[..] else {
        panic!("{:?}", found.points)
    };
    assert_eq!(point.between, [3, 4]);
    assert_eq!(
        point.differences,
        ["kernel: was 6.12.41 #1 SMP, is 6.12.44 #1 SMP"]
    );
    assert_eq!(point.machine.as_deref(), Some(&[][..]));
    assert!(found.is_common(point), "{:?}", point.changes);
    let changes = found.changes(point);
    assert!(
        changes
            .iter()
            .all(|(_, change)| change.verdict == Verdict::Worse),
        "{changes:?}"
    );
    let (_, throughput) = changes
        .iter()
        .find(|(series, _)| series.metric.name == "throughput_mbps")
        .expect("the throughput");
    assert!(
        (throughput.pct.value + 20.0).abs() < 2.0 && throughput.pct.high < Some(-15.0),
        "{throughput:?}"
    );
    let text = history_text(&found, 100).replace('\n', " ");
    assert!(
        text.contains(
            "12 of 12 series changed on 5 October, all got worse; between the two executions: "
        ) && text.contains("kernel 6.12.41 → 6.12.44; not the machine's state"),
        "{text}"
    );
    assert!(history_markdown(&found).contains("kernel 6.12.41 → 6.12.44"));
    let json = history_json(&found);
    assert_eq!(json["points"][0]["between"][1], 4);
    assert_eq!(
        json["series"][0]["values"].as_array().map(Vec::len),
        Some(8)
    );
}

#[test]
fn the_same_and_a_slow_day_are_no_change() {
    let same: Vec<Made> = (1..=8).map(made).collect();
    let found = of(&same);
    assert!(found.points.is_empty(), "{:?}", found.points);
    let text = history_text(&found, 100);
    let last = text.lines().last().unwrap_or_default();
    assert_eq!(
        last,
        "No change point of 3 % or more in 12 series of 8 executions"
    );
    let slow = |made: &Made| match made.day {
        1..=4 => *made,
        _ => Made {
            factor: 0.8,
            loop_ns: 5000,
            ..*made
        },
    };
    let found = of(&same.iter().map(slow).collect::<Vec<_>>());
    assert!(found.points.is_empty(), "{:?}", found.points);
    let slope = |name: &str| {
        let of = |(metric, slope): &(&bitcost_analysis::metrics::Metric, f64)| {
            (metric.name == name).then_some(*slope)
        };
        found.slopes.iter().find_map(of).expect("a slope")
    };
    assert!((slope("throughput_mbps") + 1.0).abs() < 0.1);
}

#[test]
fn an_execution_in_another_state_is_left_out() {
    let mut all: Vec<Made> = (1..=8).map(made).collect();
    for far in [1, 6, 7] {
        all[far].trip_ns = 366;
        all[far].factor = 0.7;
    }
    let found = of(&all);
    assert!(found.points.is_empty(), "{:?}", found.points);
    assert_eq!(found.used(), 5);
    let text = history_text(&found, 100).replace('\n', " ");
    assert!(
        text.contains("day-7 is not used for change points: a cache line's round trip"),
        "{text}"
    );
}

#[test]
fn what_has_no_history_is_an_error_and_what_differs_is_said() {
    let all: Vec<Findings> = slower()
        .into_iter()
        .map(|made| execution(STUDY, made))
        .collect();
    let metrics = compared_metrics(&[&all[0].summary]);
    let few = history(&all[..2], &metrics, 3.0).expect_err("too few");
    assert_eq!(few, HistoryError::TooFew { given: 2 });
    let three = history(&all[..3], &metrics, 3.0).expect("a history");
    assert_eq!((three.judged(), three.points.len()), (0, 0));
    assert!(history_text(&three, 100).contains("a series needs at least 4 executions"));
    let other = |size: u32| {
        let study = STUDY.replace("levels = [1024, 8192]", &format!("levels = [{size}, 4096]"));
        let study = study.replace(
            "from = 1024, to = 8192",
            &format!("from = {size}, to = 4096"),
        );
        let (study, _) = study.split_once("[expect]").expect("a study");
        execution(study, made(9))
    };
    let common = [&all[..4], &[other(1024)]].concat();
    let found = history(&common, &metrics, 3.0).expect("a history");
    assert_eq!(
        found.remarks[0],
        "the plans of day-1 and day-9 differ, and 4 cells that only one of them has are left out: message_size_bytes is 8192 in day-1 alone, 4096 in day-9 alone"
    );
    let apart = [&all[..4], &[other(2048)]].concat();
    let none = history(&apart, &metrics, 3.0).expect_err("nothing in common");
    assert!(
        none.to_string()
            .contains("day-1 has no cell in common with day-9")
    );
}

#[test]
fn clocks_that_contradict_each_other_are_said() {
    let mut all: Vec<Findings> = (1..=4).map(|day| execution(STUDY, made(day))).collect();
    let metrics = compared_metrics(&[&all[0].summary]);
    for run in &mut all[1].summary.runs {
        run.began_at = Some("2026-10-03T11:00:00+02:00".into());
    }
    let found = history(&all, &metrics, 3.0).expect("a history");
    assert!(
        found.remarks[0].starts_with("day-3 began before the last run of day-2"),
        "{:?}",
        found.remarks
    );
    all[2].summary.began_at = "yesterday".into();
    let none = history(&all, &metrics, 3.0).expect_err("no time");
    assert!(
        none.to_string()
            .starts_with("day-3: the time at which it began, `yesterday`")
    );
}

/// Histories of eight executions of five runs, drawn from recorded runs of one setting: in steady cells, in some that
/// spread by 15 % with two modes. How many of 200 have a change point, and how many find one from the fifth execution on.
#[test]
fn histories_of_recorded_noise_have_few_false_change_points() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut count = |factor: f64| {
        let mut of_execution = |noise: &[f64], number: usize| {
            let mut draw = || noise[random.next_u32() as usize % noise.len()];
            let runs: Vec<f64> = (0..5).map(|_| draw()).collect();
            let factor = if number < 4 { 1.0 } else { factor };
            let found = median_interval(&runs, 1).expect("runs");
            let width = (found.high.expect("bounds") / found.low.expect("bounds")).ln();
            ((found.value * factor).ln(), width / 3.92)
        };
        let mut family = |_: u32| -> Vec<bitcost_stats::Series> {
            let mut series = Vec::new();
            for (_, noise) in recorded() {
                let both = (0..8).map(|number| of_execution(&noise, number));
                let (values, errors): (Vec<f64>, Vec<f64>) = both.unzip();
                let error = median(&errors).expect("errors");
                series.push(bitcost_stats::Series { values, error });
            }
            series
        };
        let histories = (0..200).map(|number| change_points(&[family(number)]));
        histories
            .filter(|found| found[0].iter().any(|points| !points.is_empty()))
            .count()
    };
    let [none, tenth] = [1.0, 0.9].map(&mut count);
    println!("{none} of 200 without a change, {tenth} with one of 10 %");
    assert!(none <= 16, "{none} of 200 without a change");
    assert!(tenth >= 150, "{tenth} of 200 with a change of 10 %");
}
