//! What the pictures show: the order of cells, bars where there are intervals, ticks, and nothing
//! where there is no data.

use crate::common::{imported, summary};
use bitcost_import::Found;
use bitcost_model::event::Event;
use bitcost_model::imported::ImportedInterval;
use bitcost_model::record::Role;
use bitcost_model::study::Label;
use bitcost_study::{Picture, PictureKind};

use crate::common::chart::{chart, numbers};

fn run(size: i64, figures: &[(&str, f64)]) -> Found {
    let mut found = Found::default();
    found
        .levels
        .insert("message_size_bytes".into(), Label::Number(size));
    found.run.tool = "iperf3".into();
    found.run.figures = figures
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    found
}

/// This number of runs of each size, in this order, each size twice as fast as the one before.
fn sizes(sizes: &[i64], runs: u32) -> Vec<Found> {
    let of = |(place, size): (usize, &i64)| {
        let speed = 100.0 * 2_f64.powi(place as i32);
        (0..runs)
            .map(move |n| run(*size, &[("throughput_mbps", speed + f64::from(n))]))
            .collect::<Vec<_>>()
    };
    sizes.iter().enumerate().flat_map(of).collect()
}

fn log(found: Vec<Found>) -> Vec<Event> {
    imported(found, "x")
}

fn html(events: &[Event], kinds: Option<&[PictureKind]>) -> String {
    let mut summary = summary(events);
    summary.study.pictures = kinds.map(|kinds| kinds.iter().copied().map(Picture::plain).collect());
    crate::common::html(events, summary)
}

/// The pictures' titles with their captions, in their order.
fn captions(html: &str) -> Vec<&str> {
    html.split("<figcaption id=\"p")
        .skip(1)
        .filter_map(|part| part.split("</figcaption>").next())
        .collect()
}

/// The first picture of the study.
fn picture(html: &str) -> &str {
    html.split("<svg id=\"p0\"").nth(1).expect("a picture")
}

#[test]
fn cells_named_by_numbers_stand_at_places_of_their_own_in_the_order_of_their_levels() {
    let events = log(sizes(&[8192, 64, 1024], 4));
    let boxes = chart(&html(&events, Some(&[PictureKind::Boxes])), 0);
    let names = boxes.axis(false);
    assert_eq!(
        (names.scale.as_str(), &names.ticks[..]),
        ("names", &["64", "1024", "8192"].map(String::from)[..])
    );
    let [drawn, runs] = &boxes.traces[..] else {
        panic!("boxes and dots: {:?}", boxes.names())
    };
    assert_eq!(drawn.rows(), ["64", "1024", "8192"]);
    assert_eq!(runs.marks.len(), 12, "a dot per run");
    // Quartiles of type 7 of 100, 101, 102, 103, which are the runs of 8192.
    let five = drawn.marks[2].five.as_deref().map(numbers);
    assert_eq!(five.expect("five numbers")[1..4], [100.75, 101.5, 102.25]);
    let events = log(sizes(&[8192, 64, 1024], 20));
    let lines = chart(&html(&events, Some(&[PictureKind::Quantiles])), 0);
    assert_eq!(lines.names(), ["64", "1024", "8192"]);
    let every = (0..20).map(|run| 100.0 + f64::from(run));
    assert_eq!(lines.traces[2].y(), every.collect::<Vec<_>>());
}

#[test]
fn where_there_is_no_interval_there_is_no_bar() {
    let mut runs = sizes(&[64, 1024], 4);
    runs.extend(sizes(&[8192], 1));
    let some = html(&log(runs), Some(&[PictureKind::Curve]));
    let drawn = chart(&some, 0);
    let marks = &drawn.traces[0].marks;
    assert_eq!((&marks[2].low, &marks[2].high), (&None, &None), "{marks:?}");
    assert!(marks[0].low.is_some() && marks[0].high.is_some());
    assert_eq!(
        picture(&some).matches("class=\"interval\"").count(),
        2,
        "bars where there are bounds"
    );
    assert!(captions(&some)[0].contains("; cells of one run have none."));
    let none = html(&log(sizes(&[64, 1024], 1)), Some(&[PictureKind::Curve]));
    assert!(captions(&none)[0].contains("One run each, so there are no intervals."));
    assert!(!none.contains("class=\"interval\""), "no bar at all");
}

#[test]
fn single_runs_have_neither_boxes_nor_percentiles() {
    let kinds = [
        PictureKind::Boxes,
        PictureKind::Quantiles,
        PictureKind::Curve,
    ];
    let single = html(&log(sizes(&[64, 1024], 1)), Some(&kinds));
    assert_eq!(captions(&single).len(), 1, "the curve alone");
    let pictures = |runs| captions(&html(&log(sizes(&[64, 1024], runs)), Some(&kinds))).len();
    assert_eq!(
        (pictures(2), pictures(19), pictures(20)),
        (2, 2, 3),
        "percentiles of 20 runs"
    );
}

#[test]
fn a_logarithmic_axis_names_one_two_and_five_and_a_lone_line_its_metric() {
    let drawn = html(
        &log(sizes(&[64, 512, 1024, 4096, 8192], 2)),
        Some(&[PictureKind::Curve]),
    );
    let chart = chart(&drawn, 0);
    let y = chart.axis(false);
    assert_eq!(
        (y.scale.as_str(), &y.ticks[..]),
        (
            "log",
            &["100", "200", "500", "1000", "2000"].map(String::from)[..]
        )
    );
    assert_eq!(
        chart.axis(true).ticks,
        ["64", "512", "1024", "4096", "8192"],
        "sizes have ticks of their own"
    );
    assert_eq!(chart.names(), ["Throughput"]);
}

#[test]
fn the_line_of_costs_is_smooth_between_sizes_far_apart() {
    let costs = |size: i64| {
        let us_per_kib = (1000.0 + 0.25 * size as f64) / size as f64 * 1.024;
        [0.999, 1.001].map(|off| {
            run(
                size,
                &[("send_service_demand_us_per_kib", us_per_kib * off)],
            )
        })
    };
    let runs: Vec<Found> = [1, 16, 512, 8192].into_iter().flat_map(costs).collect();
    let drawn = html(&log(runs), Some(&[PictureKind::Cost]));
    let chart = chart(&drawn, 0);
    assert_eq!(chart.axis(true).scale, "log");
    assert_eq!(chart.names(), ["means", "line"]);
    assert_eq!(chart.traces[1].x().len(), 61);
    assert!(
        captions(&drawn)[0].contains("relative error. 1000 ns per message + 0.25 ns per byte."),
        "{:?}",
        captions(&drawn)
    );
    assert!(!drawn.contains("all: "));
}

#[test]
fn of_two_sizes_the_page_says_why_there_is_no_cost_model() {
    let two = html(&log(sizes(&[64, 1024], 2)), Some(&[PictureKind::Cost]));
    assert!(captions(&two).is_empty());
    assert!(two.contains(
        "no cost model: it needs 3 sizes or more of which time or CPU is known; here: 2"
    ));
    let lossy = |size: i64| (0..2).map(move |_| run(size, &[("loss_pct", 1.0)]));
    let unknown = html(
        &log([64, 128, 512, 1024].into_iter().flat_map(lossy).collect()),
        None,
    );
    assert!(unknown.contains("with nothing else that differs; the 4 sizes here do not meet that"));
    assert!(
        !html(&log(sizes(&[64], 2)), None).contains("no cost model"),
        "nobody looks for one"
    );
}

#[test]
fn a_run_over_time_says_its_units_and_calls_its_lines_by_words() {
    let figures = [
        ("throughput_mbps", 900.0),
        ("retransmits", 3.0),
        ("congestion_window_bytes", 14480.0),
    ];
    let mut found = run(64, &[("throughput_mbps", 900.0)]);
    found.run.intervals = (0..4)
        .map(|step| ImportedInterval {
            end: Role::Sender,
            begin_s: f64::from(step) * 0.1,
            end_s: f64::from(step + 1) * 0.1,
            figures: figures.map(|(name, value)| (name.to_owned(), value)).into(),
        })
        .collect();
    let chart = chart(&html(&log(vec![found]), Some(&[PictureKind::Series])), 0);
    assert_eq!(
        chart.names(),
        [
            "throughput, sent",
            "retransmitted segments",
            "congestion window"
        ]
    );
    let titles: Vec<&str> = chart
        .axes
        .iter()
        .filter(|axis| !axis.is_x)
        .map(|axis| axis.title.as_str())
        .collect();
    assert_eq!(
        titles,
        ["Mbit/s", "retransmitted per 100 ms", "window (bytes)"]
    );
}

/// The runs of `sizes`, of each level of a factor.
fn with_levels(levels: &[&str], of: &[i64]) -> Vec<Found> {
    let each = |level: &&str| {
        let mut found = sizes(of, 1);
        for one in &mut found {
            let label = Label::Text((*level).to_owned());
            one.levels.insert("offloading".into(), label);
        }
        found
    };
    levels.iter().flat_map(each).collect()
}

#[test]
fn many_cells_along_sizes_are_lines_and_not_a_bar_each() {
    let many: Vec<i64> = (1..=15).map(|step| 300 * step).collect();
    let page = html(&log(with_levels(&["none", "all"], &many)), None);
    assert_eq!(page.matches("curve-throughput_mbps.csv\"").count(), 1);
    assert!(!page.contains("cells.csv"));
    let (_, legend) = page.split_once("<ul class=\"legend\">").expect("a legend");
    let legend = legend.split("</ul>").next().expect("its end");
    for level in ["none", "all"] {
        assert!(legend.contains(&format!("{level}</li>")), "{legend}");
    }
    let few = html(&log(with_levels(&["none", "all"], &many[..3])), None);
    assert!(few.contains("cells.csv"));
}
