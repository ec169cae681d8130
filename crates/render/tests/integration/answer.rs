//! The answer: its subject, its words for more and less, and the claims that it avoids.

use crate::common::{html, imported, summary};
use bitcost_import::Found;
use bitcost_model::event::Event;
use bitcost_model::study::Label;
use bitcost_testkit::assert_says;

fn text(name: &str) -> Label {
    Label::Text(name.into())
}

/// Six runs of each level of `offloading`, with throughput, retransmitted segments and CPU cost;
/// all with the same queue.
fn log(levels: &[(&str, [f64; 3])], runs: u32) -> Vec<Event> {
    let mut found = Vec::new();
    for (place, (level, [mbps, again, cost])) in levels.iter().enumerate() {
        for run in 0..runs {
            // The runs of the two levels do not vary together.
            let spread = 1.0 + f64::from(if place == 0 { run } else { run * 5 % 7 }) / 100.0;
            let mut one = Found::default();
            one.run.tool = "iperf3".into();
            one.levels.insert("offloading".into(), text(level));
            one.levels.insert("queue".into(), text("not said"));
            let figures = [
                ("throughput_mbps", mbps * spread),
                ("send_throughput_mbps", mbps * spread),
                ("retransmits", again * spread),
                ("send_service_demand_us_per_kib", cost * spread),
            ];
            one.run.figures = figures.map(|(name, value)| (name.to_owned(), value)).into();
            found.push(one);
        }
    }
    imported(found, "runs")
}

fn improve(events: &mut [Event], answer: &str) {
    for event in events {
        if let Event::ExecutionBegan { study_text, .. } = event {
            *study_text +=
                "[table.improvement]\nfactor = \"offloading\"\nfrom = \"on\"\nto = \"off\"\n";
            *study_text += answer;
        }
    }
}

/// The answer of the page: the sentence that it opens with, and what the fold of the tables adds.
fn answer(events: &[Event]) -> String {
    let html = html(events, summary(events));
    let paragraph = |after: &str| {
        let (_, rest) = html.split_once(after)?;
        let (_, rest) = rest.split_once('>')?;
        rest.split("</p>").next().map(str::to_owned)
    };
    let opening = paragraph("<p class=\"answer").expect("an answer");
    [Some(opening), paragraph("<p class=\"rest")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_change_falls_or_rises_and_is_better_or_worse_by_its_metric() {
    let mut events = log(
        &[("on", [1000.0, 300.0, 2.0]), ("off", [500.0, 1800.0, 1.0])],
        6,
    );
    improve(
        &mut events,
        "[report]\nanswer = [\"throughput_mbps\", \"retransmits\", \"send_service_demand_us_per_kib\"]\n",
    );
    let answer = answer(&events);
    assert!(
        answer.starts_with("From offloading = on to off, throughput falls to ×0.505 ("),
        "{answer}"
    );
    assert_says(
        &answer,
        &[") (worse). Retransmitted segments rise to ×6.06 ("],
    );
    assert_says(
        &answer,
        &["send service demand falls to ×0.505 (", ") (better)."],
    );
    assert!(
        answer.contains("(offloading = on)") || answer.contains("(offloading = off)"),
        "the widest: {answer}"
    );
    assert!(!answer.contains("not said"), "{answer}");
}

#[test]
fn what_began_at_zero_has_no_ratio() {
    let mut events = log(
        &[("on", [1000.0, 0.0, 2.0]), ("off", [1000.0, 2000.0, 2.0])],
        5,
    );
    improve(&mut events, "[report]\nanswer = [\"retransmits\"]\n");
    let answer = answer(&events);
    assert!(
        answer.starts_with(
            "From offloading = on to off, retransmitted segments rise from 0.00 to 2060 (worse)."
        ),
        "{answer}"
    );
}

#[test]
fn where_intervals_overlap_no_difference_is_told() {
    let mut events = log(
        &[("on", [1000.0, 300.0, 2.0]), ("off", [1004.0, 300.0, 2.0])],
        6,
    );
    let cells = answer(&events);
    assert!(
        cells.starts_with("Throughput is 1039 [1009, 1059] Mbit/s with offloading = off and 10"),
        "{cells}"
    );
    assert_says(
        &cells,
        &["with offloading = on: no difference is measurable."],
    );
    improve(&mut events, "");
    let compared = answer(&events);
    assert!(
        compared
            .starts_with("From offloading = on to off, no difference of throughput is measurable."),
        "{compared}"
    );
}

#[test]
fn what_a_file_does_not_say_is_no_level() {
    let events = log(
        &[
            ("on", [1000.0, 300.0, 2.0]),
            ("not said", [500.0, 1800.0, 1.0]),
        ],
        6,
    );
    let words = answer(&events);
    assert!(
        words.starts_with("Throughput is highest with offloading = on (1025 "),
        "{words}"
    );
    assert_says(&words, &[" and lowest with no offloading ("]);
    assert!(!words.contains("not said"), "{words}");
}

#[test]
fn without_a_word_of_the_study_it_is_about_two_kinds_of_figures() {
    let events = log(
        &[("on", [1000.0, 300.0, 2.0]), ("off", [500.0, 1800.0, 1.0])],
        1,
    );
    let answer = answer(&events);
    assert_eq!(
        answer.matches("hroughput").count(),
        1,
        "offered and delivered are one kind: {answer}"
    );
    assert!(answer.contains("a factor of 2.00. Re"), "{answer}");
    assert!(
        answer.ends_with("; one run per cell says nothing about the spread."),
        "{answer}"
    );
}

/// A study's own sentence about the two levels.
fn own(metric: &str, words: &str) -> String {
    format!(
        "[answer]\nmetric = {metric}\nof = {{ offloading = \"off\" }}\nto = {{ offloading = \"on\" }}\nwords = \"{words}\"\n"
    )
}

fn with_own(mut events: Vec<Event>, metric: &str, words: &str) -> String {
    for event in &mut events {
        if let Event::ExecutionBegan { study_text, .. } = event {
            *study_text += &own(metric, words);
        }
    }
    answer(&events)
}

#[test]
fn the_study_s_own_sentence_is_the_first() {
    let events = || {
        log(
            &[("on", [940.0, 300.0, 0.5]), ("off", [470.0, 1900.0, 1.0])],
            6,
        )
    };
    let found = with_own(events(), "\"throughput_mbps\"", "Off carries {of} of {to}.");
    assert!(found.starts_with("Off carries 486 of 964."), "{found}");
    let found = with_own(
        events(),
        "\"throughput_mbps\"",
        "Off carries {of}, {ratio}.",
    );
    assert!(
        found.starts_with("Off carries 486, 0.50\u{a0}times ["),
        "{found}"
    );
    assert!(found.contains(",\u{a0}0.5"), "{found}");
    // Of two metrics the sum is meant.
    let both = "[\"throughput_mbps\", \"send_throughput_mbps\"]";
    let found = with_own(events(), both, "Both are {of}.");
    assert!(found.starts_with("Both are 97"), "{found}");
    let same = log(
        &[("on", [940.0, 0.0, 0.5]), ("off", [941.0, 1900.0, 1.0])],
        6,
    );
    let found = with_own(
        same.clone(),
        "\"throughput_mbps\"",
        "Off carries {of}, {ratio}.",
    );
    assert!(found.contains("]: no measurable difference."), "{found}");
    let found = with_own(same, "\"retransmits\"", "Off has {of}, {ratio}.");
    assert_says(&found, &["(no ratio: the other figure is 0)"]);
    let single = log(&[("on", [940.0, 1.0, 0.5]), ("off", [470.0, 2.0, 1.0])], 1);
    let found = with_own(single, "\"throughput_mbps\"", "Off carries {of}, {ratio}.");
    assert!(
        found.starts_with("Off carries 470, 0.5")
            && found.contains("\u{a0}times (one run each: no interval). "),
        "{found}"
    );
    // A metric that was not measured: the sentence says why it has no figure.
    let found = with_own(events(), "\"rtt_us\"", "Off takes {of}.");
    assert!(
        found.starts_with("Off takes: not known, because ") && found.contains("not measured"),
        "{found}"
    );
}
