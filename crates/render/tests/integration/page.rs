//! The content of a page, and what it must never do: load something, or take words for markup.

use crate::common::*;
use bitcost_analysis::checks::{CheckSummary, ClaimSummary, Verdict};
use bitcost_stats::Interval;
use bitcost_study::{Bars, Expect, Picture, PictureKind, Scale};

const HOSTILE: &str =
    "</script><script>alert(1)</script>\"><img src=http://evil.example/x onerror=alert(1)>";

fn run(bytes: i64, mbps: f64) -> Run {
    let figures = [
        ("throughput_mbps", mbps),
        (
            "send_service_demand_us_per_kib",
            1.0 + 1000.0 / bytes as f64,
        ),
    ];
    run_of_iperf3(&[size(bytes)], &figures)
}

fn failed(reason: &str) -> Run {
    Run {
        error: Some(reason.into()),
        ..run(1024, 0.0)
    }
}

fn log(found: Vec<Run>, name: &str) -> Vec<Event> {
    imported(found, name, &["bitcost", HOSTILE])
}

fn render(events: &[Event]) -> String {
    rendered(events, |_| ())
}

/// The page of a log whose summary was changed before.
fn rendered(events: &[Event], change: impl FnOnce(&mut Summary)) -> String {
    let mut found = execution(HOSTILE, events);
    change(&mut found.summary);
    found.comparison = of_study(&found, 3.0);
    page_of(&[found], HOSTILE)
}

#[test]
fn nothing_is_loaded_and_words_are_no_markup() {
    let mut runs = vec![run(1024, 900.0), run(8192, 4000.0), run(1024, 950.0)];
    runs[0].imported.levels.extend([word("brand", HOSTILE)]);
    runs.push(failed(HOSTILE));
    let mut events = log(runs, HOSTILE);
    let host = HostDescription {
        host_name: HOSTILE.into(),
        ..HostDescription::default()
    };
    let end = |role| EndpointDescription {
        role,
        place: HOSTILE.into(),
        host: host.clone(),
    };
    let prepared = Event::Prepared {
        lab: None,
        endpoints: vec![end(Role::Sender), end(Role::Receiver)],
        shared_cpus: false,
        notes: vec![HOSTILE.into()],
        hosts: Default::default(),
        rtt: None,
    };
    events.insert(2, prepared);
    let html = render(&events);
    assert!(
        !html.contains("<img") && !html.contains("<script>alert"),
        "words became markup"
    );
    assert!(html.contains("&lt;img src=http://evil.example"));
    for loads in [
        "src=\"",
        "href=\"http",
        "@import",
        "url(http",
        "<iframe",
        "<link rel=\"stylesheet",
    ] {
        assert!(!html.contains(loads), "{loads}");
    }
    assert!(html.contains("default-src 'none'; style-src 'sha256-"));
    assert!(html.contains("; form-action 'none'; base-uri 'none'\""));
    assert!(!html.contains("unsafe-inline") && !html.contains("script-src"));
    let closing = html.matches("</script>").count();
    let opening = html.matches("<script").count();
    assert_eq!(opening, closing, "a script was ended by its data");
}

#[test]
fn a_single_run_and_failures_alone_have_a_page() {
    let one = render(&log(vec![run(1024, 900.0)], "one"));
    assert!(
        one.contains("Throughput: 900 Mbit/s.")
            && one.contains("A single run says nothing about the spread")
    );
    let none = render(&log(vec![failed("no route"), failed("no route")], "none"));
    assert!(none.contains("No run has a result that can be used.") && none.contains("no route"));
    assert!(!none.contains("<figure"), "nothing is drawn");
    assert_eq!(none.matches("No run has a result").count(), 1, "said once");
    assert!(!none.contains(">Table</h2>") && !none.contains(">What limited it<"));
}

#[test]
fn of_many_runs_the_page_stays_small_however_many_cells_they_are_of() {
    for cells in [1, 500] {
        let many = (0..3000).map(|n| run(64 + n % cells * 16, 1000.0 + (n * 37 % 101) as f64));
        let html = render(&log(many.collect(), "many"));
        assert!(
            html.len() < 10 << 20,
            "{} bytes of {cells} cells",
            html.len()
        );
    }
}

/// Four sizes of two brands, three runs each.
fn brands() -> Vec<Event> {
    let mut runs = Vec::new();
    for (brand, base) in [("a", 900.0), ("b", 500.0)] {
        for (place, size) in [512, 1024, 2048, 8192].into_iter().enumerate() {
            for spread in [0.0, 10.0, 30.0] {
                let mut run = run(size, base * (place + 1) as f64 + spread);
                run.imported.levels.extend([word("brand", brand)]);
                runs.push(run);
            }
        }
    }
    log(runs, "brands")
}

/// The pictures' titles in their order.
fn titles(html: &str) -> Vec<&str> {
    let begin = |part: &'_ str| part.find("<strong>").map(|at| at + "<strong>".len());
    html.split("<figcaption id=\"p")
        .skip(1)
        .filter_map(|part| part[begin(part)?..].split("</strong>").next())
        .collect()
}

/// Ten runs of each of two sizes, the larger one `factor` times as fast as 1000 Mbit/s.
fn sizes(factor: f64) -> Vec<Event> {
    let runs = (0..20_i64).map(|number| {
        let speed = [1000.0, 1000.0 * factor][number as usize % 2];
        run(1024 << (number % 2), speed + number as f64 / 10.0)
    });
    log(runs.collect(), "sizes")
}

#[test]
fn executions_without_a_common_cell_are_chapters_alone() {
    let executions = [sizes(1.0), brands()].map(|events| execution("one", &events));
    assert!(!page_of(&executions, HOSTILE).contains("What changed"));
}

#[test]
fn statements_have_their_verdict_interval_and_bounds() {
    let claim = |interval, runs, verdict| ClaimSummary {
        metric: "throughput_mbps".into(),
        figure: "value",
        of: String::new(),
        at_least: Some(1.0),
        at_most: None,
        bounds: "at least 1".into(),
        levels: Vec::new(),
        interval: Some(interval),
        runs,
        verdict,
    };
    let wide = Interval {
        value: 1.5,
        low: Some(0.5),
        high: Some(2.5),
    };
    let narrow = Interval {
        value: 2.5,
        low: Some(2.25),
        high: Some(2.75),
    };
    let checks = vec![
        CheckSummary {
            statement: HOSTILE.into(),
            verdict: Verdict::CannotTell,
            claims: vec![
                claim(narrow, 5, Verdict::Pass),
                claim(wide, 2, Verdict::CannotTell),
            ],
        },
        CheckSummary {
            statement: "It is fast".into(),
            verdict: Verdict::Pass,
            claims: vec![claim(narrow, 5, Verdict::Pass)],
        },
    ];
    let html = rendered(&brands(), |summary| summary.checks = checks);
    assert!(
        html.contains("<span>1 pass, 1 cannot tell</span>"),
        "counted"
    );
    assert!(html.contains("<b class=\"verdict pass\">pass</b> It is fast"));
    assert!(html.contains("<b class=\"verdict cannot_tell\">cannot tell</b> Throughput: 1.50 [0.50, 2.50] (too few: 2 runs); expected at least 1"));
    assert!(!html.contains("<img"), "words became markup");
}

#[test]
fn a_page_has_its_parts_and_only_pictures_that_show_something() {
    let four = [(1024, 900.0), (8192, 4000.0), (1024, 950.0), (8192, 4100.0)];
    let html = render(&log(
        four.map(|(size, mbps)| run(size, mbps)).to_vec(),
        "four",
    ));
    let headings = html.split("<summary><h2>").skip(1);
    let headings: Vec<&str> = headings.filter_map(|part| part.split('<').next()).collect();
    let wanted = ["Table", "What limited it", "Spread", "Curves", "Provenance"];
    assert_eq!(headings, wanted);
    let many = (0..40).map(|n| run(1024 << (n % 2), 900.0 + n as f64));
    assert!(
        render(&log(many.collect(), "40")).contains("<h2>Percentiles</h2>"),
        "of 20 runs"
    );
}

#[test]
fn a_study_has_the_pictures_that_it_asks_for() {
    let curve = Picture {
        title: Some("Figure 1".into()),
        metrics: vec!["throughput_mbps".into()],
        of: vec![("brand".into(), vec![Label::Text("b".into())])],
        bars: Bars::Range,
        x: Some(Scale::Linear),
        ..Picture::plain(PictureKind::Curve)
    };
    let wanted = vec![
        curve.clone(),
        Picture {
            title: None,
            ..curve
        },
    ];
    let html = rendered(&brands(), |summary| summary.study.pictures = Some(wanted));
    let wanted = [
        "Figure 1. Throughput against message size (bytes).",
        "Throughput against message size (bytes).",
    ];
    assert_eq!(titles(&html), wanted);
    assert_eq!(html.matches("of the runs. With brand b.").count(), 1);
    let of_both = html.matches("<title>Throughput, 512: 510 [500, 530] Mbit/s</title>");
    assert_eq!(of_both.count(), 4, "each for a desk and for a phone");
}

#[test]
fn the_document_is_next_to_our_figures() {
    let wanted = [PictureKind::Bars, PictureKind::Curve]
        .map(Picture::plain)
        .to_vec();
    let html = rendered(&brands(), |summary| {
        summary.study.pictures = Some(wanted);
        summary.study.expect = Some(Expect::default());
        summary.cells[0].expected = vec![("throughput_mbps".into(), 1820.0)];
    });
    for words in [
        "<title>a · 512, Throughput: 910 [900, 930] Mbit/s</title>",
        "<title>a · 512, document: 1820 Mbit/s</title>",
    ] {
        assert!(html.contains(words), "{words}");
    }
    assert!(html.contains("class=\"sign across\"") && html.contains("class=\"sign open\""));
}

#[test]
fn of_two_executions_the_changes_stand_first() {
    let executions = [("before", sizes(1.0)), (HOSTILE, sizes(1.5))];
    let executions = executions.map(|(name, events)| execution(name, &events));
    let html = page_of(&executions, HOSTILE);
    assert!(!html.contains("<img"), "words became markup");
    let changes = html.find("<h1>What changed</h1>").expect("a chapter");
    let table = html.find("<h2>Table</h2>").expect("the first execution's");
    assert!(changes < table);
    let answer =
        "<p class=\"answer\">Throughput rises from 1001 to 1501 Mbit/s with 2048: better.</p>";
    assert!(html.contains(answer), "the largest change");
    assert!(
        html[changes..table].contains("<td>+50.0 % "),
        "every change"
    );
    for chapter in ["chapter0", "chapter1"] {
        let parts = [
            format!("href=\"#{chapter}\""),
            format!("<article id=\"{chapter}\">"),
        ];
        assert!(parts.iter().all(|part| html.contains(part)), "{chapter}");
    }
}
