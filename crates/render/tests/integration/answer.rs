//! The answer: its subject, its words for more and less, and the claims that it avoids.

use crate::common::*;

/// Six runs of each level of `offloading`, with throughput, retransmitted segments and CPU cost;
/// all with the same queue.
fn log(on: [f64; 3], off: [f64; 3], runs: u32) -> Vec<Event> {
    let mut found = Vec::new();
    for (place, (level, [mbps, again, cost])) in [("on", on), ("off", off)].iter().enumerate() {
        for run in 0..runs {
            // The runs of the two levels do not vary together.
            let spread = 1.0 + f64::from(if place == 0 { run } else { run * 5 % 7 }) / 100.0;
            let levels = [word("offloading", level), word("queue", "not said")];
            let figures = [
                ("throughput_mbps", mbps * spread),
                ("send_throughput_mbps", mbps * spread),
                ("retransmits", again * spread),
                ("send_service_demand_us_per_kib", cost * spread),
            ];
            found.push(run_of_iperf3(&levels, &figures));
        }
    }
    imported(found, "runs", &[])
}

/// The answer where the study's text has these lines too.
fn with(mut events: Vec<Event>, lines: &str) -> String {
    if let Event::ExecutionBegan { study_text, .. } = &mut events[0] {
        *study_text += lines;
    }
    answer(&events)
}

/// The sentence that the page opens with.
fn answer(events: &[Event]) -> String {
    let html = html(events, summary(events));
    let (_, rest) = html.split_once("<p class=\"answer\">").expect("an answer");
    rest.split("</p>").next().expect("its end").to_owned()
}

#[test]
fn without_a_sentence_of_the_study_it_is_the_extremes_of_the_first_metric() {
    let half = || log([1000.0, 300.0, 2.0], [500.0, 1800.0, 1.0], 6);
    let like = || log([1000.0, 0.0, 2.0], [1004.0, 300.0, 2.0], 6);
    let of = |mut events: Vec<Event>, metric: &str| {
        if let Event::ExecutionBegan { study_text, .. } = &mut events[0] {
            let (head, _) = study_text.split_once("metrics = [").expect("a table");
            *study_text = format!("{head}metrics = [\"{metric}\"]\n");
        }
        answer(&events)
    };
    let found = [
        answer(&half()),
        answer(&like()),
        of(half(), "send_service_demand_us_per_kib"),
        of(like(), "retransmits"),
    ];
    let wanted = [
        "Highest throughput: 1025 [1005, 1045] Mbit/s with on; lowest: 518 [502, 528] Mbit/s with off.",
        "No difference of throughput is measurable: 1025 [1005, 1045] Mbit/s with on to 1039 [1009, 1059] Mbit/s with off.",
        "Highest send service demand: 2.05 [2.01, 2.09] µs/KiB with on; lowest: 1.04 [1.00, 1.06] µs/KiB with off.",
        "Highest retransmitted segments: 310 [302, 316] with off; lowest: 0.00 [0.00, 0.00] with on.",
    ];
    assert_eq!(found, wanted);
}

/// The answer where the study has its own sentence about the two levels.
fn with_own(events: Vec<Event>, metric: &str, words: &str) -> String {
    let levels = "of = { offloading = \"off\" }\nto = { offloading = \"on\" }";
    let lines = format!("[answer]\nmetric = {metric}\n{levels}\nwords = \"{words}\"\n");
    with(events, &lines)
}

#[test]
fn a_study_s_own_sentences_have_their_figures_or_say_why_they_have_none() {
    let half = || log([940.0, 300.0, 0.5], [470.0, 1900.0, 1.0], 6);
    let same = || log([940.0, 0.0, 0.5], [941.0, 1900.0, 1.0], 6);
    let single = log([940.0, 1.0, 0.5], [470.0, 2.0, 1.0], 1);
    let mbps = "\"throughput_mbps\"";
    let both = "[\"throughput_mbps\", \"send_throughput_mbps\"]";
    let found = [
        with_own(half(), mbps, "Off carries {of} of {to}."),
        with_own(half(), mbps, "Off carries {of}, {ratio}."),
        with_own(half(), both, "Of two metrics the sum is meant: {of}."),
        with_own(same(), mbps, "Off carries {of}, {ratio}."),
        with_own(same(), "\"retransmits\"", "Off has {of}, {ratio}."),
        with_own(single, mbps, "Off carries {of}, {ratio}."),
        with_own(half(), "\"rtt_us\"", "Off takes {of}."),
        with_own(half(), mbps, "Off carries {of}, limited by: {bottleneck}."),
    ];
    let found = found.map(|words| words.replace('\u{a0}', " "));
    let wanted = [
        "Off carries 486 of 964.",
        "Off carries 486, 0.505 times.",
        "Of two metrics the sum is meant: 973.",
        "Off carries 974, 1.01 times (no measurable difference).",
        "Off has 1966, an unknown number of times (the other figure is 0).",
        "Off carries 470, 0.500 times (one run each).",
        "No figure of off: Round-trip time: not measured in these runs.",
        "Off carries 486, limited by: unknown.",
    ];
    assert_eq!(found, wanted);
}
