//! What the pictures show: the order of cells, bars where there are intervals, and nothing where there is no data.

use crate::common::*;
use bitcost_study::{Picture, PictureKind};

fn run(bytes: i64, figures: &[(&str, f64)]) -> Run {
    run_of_iperf3(&[size(bytes)], figures)
}

/// This number of runs of each size, in this order, each size twice as fast as the one before.
fn sizes(sizes: &[i64], runs: u32) -> Vec<Run> {
    let of = |(place, size): (usize, &i64)| {
        let speed = 100.0 * 2_f64.powi(place as i32);
        let runs = (0..runs).map(|n| run(*size, &[("throughput_mbps", speed + f64::from(n))]));
        runs.collect::<Vec<_>>()
    };
    sizes.iter().enumerate().flat_map(of).collect()
}

/// The pictures of these kinds: each from its caption to its end, without the drawing for phones.
fn pictures(found: Vec<Run>, kinds: &[PictureKind]) -> Vec<String> {
    pictures_of(&imported(found, "x", &[]), kinds)
}

fn pictures_of(events: &[Event], kinds: &[PictureKind]) -> Vec<String> {
    let mut summary = summary(events);
    summary.study.pictures = Some(kinds.iter().copied().map(Picture::plain).collect());
    let html = html(events, summary);
    let all = html.split("<figcaption").skip(1);
    let all = all.filter_map(|part| Some(part.split_once("</figure>")?.0.to_owned()));
    let is_of_cells = |picture: &String| picture.contains(" of each cell.</strong>");
    let all = all.filter(|picture| !is_of_cells(picture));
    let without_phone = |picture: String| {
        let (broad, narrow) = picture.split_once("<svg class=\"narrow\"")?;
        Some(broad.to_owned() + narrow.split_once("</svg>")?.1)
    };
    all.filter_map(without_phone).collect()
}

/// The words at the axes, in their order.
fn ticks(picture: &str) -> Vec<&str> {
    let all = picture.split("<text class=\"tick").skip(1);
    let words = all.filter_map(|part| part.split_once('>')?.1.split('<').next());
    words.collect()
}

#[test]
fn cells_named_by_numbers_stand_in_the_order_of_their_levels() {
    let boxes = pictures(sizes(&[8192, 64, 1024], 4), &[PictureKind::Boxes]);
    let ticks = ticks(&boxes[0]);
    assert_eq!(ticks[ticks.len() - 3..], ["64", "1024", "8192"]);
    assert_eq!(
        boxes[0].matches("class=\"sign dot\"").count(),
        12,
        "a dot per run"
    );
    // Quartiles of type 7 of 100, 101, 102, 103, which are the runs of 8192.
    let words = "8192, median of 4 runs: 102 Mbit/s, the middle half from 101 to 102";
    assert!(boxes[0].contains(words), "{}", boxes[0]);
}

#[test]
fn where_there_is_no_interval_there_is_no_bar() {
    let mut runs = sizes(&[64, 1024], 4);
    runs.extend(sizes(&[8192], 1));
    let some = &pictures(runs, &[PictureKind::Curve])[0];
    assert_eq!(
        some.matches("class=\"interval\"").count(),
        2,
        "of two cells"
    );
    assert!(some.contains("; cells of one run have none."));
    let none = &pictures(sizes(&[64, 1024], 1), &[PictureKind::Curve])[0];
    assert!(none.contains("One run each, so there are no intervals."));
    assert!(!none.contains("class=\"interval\""), "no bar at all");
}

#[test]
fn single_runs_have_neither_boxes_nor_percentiles() {
    let kinds = [
        PictureKind::Boxes,
        PictureKind::Quantiles,
        PictureKind::Curve,
    ];
    let count = |runs| pictures(sizes(&[64, 1024], runs), &kinds).len();
    assert_eq!([1, 2, 19, 20].map(count), [1, 2, 2, 3]);
}

#[test]
fn a_logarithmic_axis_names_one_two_and_five_and_each_size() {
    let runs = sizes(&[64, 512, 1024, 4096, 8192], 2);
    let curve = &pictures(runs, &[PictureKind::Curve])[0];
    let x = ["64", "512", "1024", "4096", "8192"];
    let y = ["100", "200", "500", "1000", "2000"];
    assert_eq!(ticks(curve), [x, y].concat());
}

#[test]
fn a_run_over_time_has_a_panel_for_each_unit() {
    let sample = |step: u32| Sample {
        at_ns: u64::from(step) * 100_000_000,
        counts: Counts {
            bytes: u64::from(step) * 11_250_000,
            ..Counts::default()
        },
        tcp_info: Some(TcpInfo {
            total_retrans: Some(3 * step),
            snd_cwnd_segments: Some(10),
            ..TcpInfo::default()
        }),
        ..Sample::default()
    };
    let events = log(STUDY, 1, |cell, _| {
        let mut sender = record(Role::Sender, cell, 225_000_000, 100);
        sender.samples = (0..5).map(sample).collect();
        let receiver = record(Role::Receiver, cell, 225_000_000, 100);
        Made::Ended(Box::new(sender), Box::new(receiver))
    });
    let series = &pictures_of(&events, &[PictureKind::Series])[0];
    for title in ["Mbit/s", "retransmitted", "window (segments)"] {
        assert!(series.contains(&format!(">{title}</text>")), "{title}");
    }
}

/// The runs of sizes, of each level of a factor.
fn with_levels(levels: [&str; 2], of: &[i64]) -> Vec<Run> {
    let each = |level: &str| {
        let mut found = sizes(of, 1);
        for one in &mut found {
            one.imported.levels.extend([word("offloading", level)]);
        }
        found
    };
    levels.into_iter().flat_map(each).collect()
}

#[test]
fn many_cells_along_sizes_are_lines_and_not_a_bar_each() {
    let first = |sizes: &[i64]| {
        let events = imported(with_levels(["none", "all"], sizes), "x", &[]);
        let html = html(&events, summary(&events));
        let title = html.split("<strong>").nth(1).expect("a picture");
        title.split('<').next().expect("a title").to_owned()
    };
    let many: Vec<i64> = (1..=15).map(|step| 300 * step).collect();
    assert_eq!(first(&many), "Throughput against message size (bytes).");
    assert_eq!(first(&many[..3]), "Throughput of each cell.");
}
