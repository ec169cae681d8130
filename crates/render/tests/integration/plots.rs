//! Plots in a terminal's characters, for made-up executions whose figures are known.

use crate::common::{STUDY, ended, log, plain, summary};
use bitcost_model::event::Event;
use bitcost_render::layout::TextOptions;
use bitcost_render::plots::{Plots, plots};

fn drawn(events: &[Event], which: Plots, options: TextOptions) -> String {
    plots(&summary(events), which, options)
}

fn narrow() -> TextOptions {
    TextOptions {
        width: 60,
        ..TextOptions::default()
    }
}

#[test]
fn each_cell_has_a_line_from_its_least_to_its_most() {
    let events = log(STUDY, 3, |cell, run| ended(cell, &plain(cell, run)));
    let text = drawn(&events, Plots::Quantiles, narrow());
    let throughput = "
Throughput (Mbit/s), every run
1024 · UDP  1034  ├●
1024 · TCP  1034  ├●
8192 · UDP  2068                     ├●
8192 · TCP  2068                     ├●
                  ┬──────────────────┬─────────────────┬
                  1000             2000              3000
";
    assert!(text.contains(throughput), "{text}");
    assert!(
        text.contains("Send service demand (µs/KiB), every run\n1024 · UDP  3.96"),
        "{text}"
    );
    assert!(
        text.ends_with("(● and number: median; ━ middle half; ├ least; ┤ most)\n"),
        "{text}"
    );
    assert!(!text.contains("against"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 60),
        "{text}"
    );
}

#[test]
fn medians_follow_the_size_and_lines_have_letters() {
    let events = log(STUDY, 3, |cell, run| {
        let mut did = plain(cell, run);
        if crate::common::is(cell, "transport", "TCP") {
            (did.sent_mbps, did.received_mbps) = (2.0 * did.sent_mbps, 2.0 * did.received_mbps);
        }
        ended(cell, &did)
    });
    let text = drawn(&events, Plots::Curve, narrow());
    let (_, throughput) = text
        .split_once("Throughput (Mbit/s) against message_size_bytes, logarithmic\nacross\n")
        .unwrap();
    let throughput = throughput.split_once("\n\n").unwrap().0;
    let lines: Vec<&str> = throughput.lines().collect();
    assert_eq!(lines.len(), 15, "{throughput}");
    assert!(
        lines[0].starts_with("5000 ┤") && lines[11].starts_with("1000 ┤"),
        "{throughput}"
    );
    let (first, last) = (lines[11], lines[2]);
    assert!(
        first.contains('a') && last.ends_with('b'),
        "the slower begins lowest, the faster ends highest: {throughput}"
    );
    let rule: String = "─".repeat(47);
    assert_eq!(lines[12], format!("     └─┬{rule}┬"));
    assert_eq!(
        lines[13].split_whitespace().collect::<Vec<_>>(),
        ["1024", "8192"]
    );
    assert_eq!(lines[14].trim(), "a UDP   b TCP");
    assert!(
        throughput.lines().all(|line| line.chars().count() <= 60),
        "{throughput}"
    );
}

#[test]
fn short_has_one_curve_and_colour_is_only_where_it_is_wanted() {
    let events = log(STUDY, 3, |cell, run| ended(cell, &plain(cell, run)));
    let text = drawn(&events, Plots::Short, narrow());
    assert_eq!(
        (
            text.matches("every run").count(),
            text.matches(" against ").count()
        ),
        (3, 1),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));
    let coloured = drawn(
        &events,
        Plots::Short,
        TextOptions {
            colour: true,
            ..narrow()
        },
    );
    assert!(
        coloured.contains("\u{1b}[36m") && coloured.contains("\u{1b}[35m"),
        "{coloured}"
    );
    let mut bare = coloured.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    for colour in 31..=36 {
        bare = bare.replace(&format!("\u{1b}[{colour}m"), "");
    }
    assert_eq!(bare, text);
}

#[test]
fn nothing_is_drawn_of_nothing_and_one_run_is_a_dot() {
    let none = log(STUDY, 1, |_, _| crate::common::Made::Missing);
    assert_eq!(drawn(&none, Plots::All, narrow()), "");
    let one = log(STUDY, 1, |cell, run| ended(cell, &plain(cell, run)));
    let text = drawn(&one, Plots::Quantiles, narrow());
    let strips: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" · UDP"))
        .collect();
    assert!(
        strips.len() == 6 && strips.iter().all(|line| line.ends_with('●')),
        "{text}"
    );
}

#[test]
fn words_of_a_study_move_no_cursor() {
    let study = STUDY
        .replace("label = \"UDP\"", "label = \"U\\u001b[2JDP\"")
        .replace("transport = \"UDP\"", "transport = \"U\\u001b[2JDP\"");
    let events = log(&study, 2, |cell, run| ended(cell, &plain(cell, run)));
    let text = drawn(&events, Plots::All, narrow());
    assert!(
        !text.contains('\u{1b}') && text.contains("U\u{fffd}[2JDP"),
        "{text}"
    );
}

#[test]
fn no_title_is_wider_than_the_terminal() {
    let events = log(STUDY, 3, |cell, run| ended(cell, &plain(cell, run)));
    for (width, colour) in [(40, false), (60, false), (60, true)] {
        let options = TextOptions { width, colour };
        let text = bitcost_render::text::text(&summary(&events), options)
            + &drawn(&events, Plots::All, options);
        let (bold, end) = ("\u{1b}[1m", "\u{1b}[0m");
        let titles = text.lines().filter(|line| {
            line.chars()
                .all(|letter| letter == '·' || letter < '\u{2000}')
        });
        let length = |line: &str| line.replace(bold, "").replace(end, "").chars().count();
        titles.for_each(|line| assert!(length(line) <= usize::from(width), "{width}: {line}"));
        assert_eq!(colour, text.contains("across\u{1b}[0m\n"), "{text}");
        assert!(
            width < 60 || text.contains("| message_size_bytes |"),
            "{text}"
        );
    }
}
