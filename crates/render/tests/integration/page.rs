//! The content of a page, and what it must never do: load something, or take words for markup.

use bitcost_analysis::checks::{CheckSummary, ClaimSummary, Verdict};
use bitcost_analysis::compare::{of_study, with_first};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::summary::Summary;
use bitcost_import::{Found, Head};
use bitcost_model::event::{EndpointDescription, Event};
use bitcost_model::imported::ImportedInterval;
use bitcost_model::machine::HostDescription;
use bitcost_model::record::Role;
use bitcost_model::study::Label;
use bitcost_render::html::page;
use bitcost_render::provenance::{Maker, Source};
use bitcost_stats::Interval;
use bitcost_study::check::{Claim, Figure, Levels};
use bitcost_study::{Bars, Expect, Picture, PictureKind, Scale};

use crate::common::chart::{Trace, chart};

const HOSTILE: &str =
    "</script><script>alert(1)</script>\"><img src=http://evil.example/x onerror=alert(1)>";

fn run(size: i64, mbps: f64) -> Found {
    let mut found = Found::default();
    found
        .levels
        .insert("message_size_bytes".into(), Label::Number(size));
    found.run.tool = "iperf3".into();
    found.run.file = "x.json".into();
    found.run.figures.insert("throughput_mbps".into(), mbps);
    found.run.figures.insert(
        "send_service_demand_us_per_kib".into(),
        1.0 + 1000.0 / size as f64,
    );
    let figures = [
        ("throughput_mbps", mbps),
        ("rtt_us", 100.0),
        ("retransmits", 1.0),
    ];
    let figures: std::collections::BTreeMap<String, f64> = figures
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    found.run.intervals = (0..5)
        .map(|step| ImportedInterval {
            end: Role::Sender,
            begin_s: f64::from(step),
            end_s: f64::from(step + 1),
            figures: figures.clone(),
        })
        .collect();
    found
}

fn log(found: Vec<Found>, name: &str) -> Vec<Event> {
    let command_line = vec!["bitcost".into(), HOSTILE.into()];
    bitcost_import::execution(
        found,
        Head {
            name,
            version: "0.1.0",
            at: "2026-11-21T10:00:00Z",
            command_line,
        },
    )
}

fn render(events: &[Event]) -> String {
    rendered(events, |_| ())
}

/// The page of a log whose summary was changed before.
fn rendered(events: &[Event], change: impl FnOnce(&mut Summary)) -> String {
    let mut found = named(HOSTILE, events);
    change(&mut found.summary);
    found.comparison = of_study(&found, 3.0);
    of(vec![found])
}

fn named(name: &str, events: &[Event]) -> Findings {
    let mut found = Findings::of_events(name.into(), events.to_vec()).expect("a whole log");
    found.comparison = of_study(&found, 3.0);
    found
}

/// The page of these executions.
fn of(executions: Vec<Findings>) -> String {
    let source = Source {
        path: HOSTILE.into(),
        bytes: 7,
        sha256: "00ff".into(),
    };
    let maker = Maker {
        version: "0.1.0".into(),
        command_line: vec![HOSTILE.into()],
        at: "now".into(),
    };
    let sources = vec![source; executions.len()];
    page(&executions, &sources, &with_first(&executions, 3.0), &maker)
}

#[test]
fn nothing_is_loaded_and_words_are_no_markup() {
    let mut runs = vec![run(1024, 900.0), run(8192, 4000.0), run(1024, 950.0)];
    runs[0]
        .levels
        .insert("brand".into(), Label::Text(HOSTILE.into()));
    runs.push(Found {
        error: Some(HOSTILE.into()),
        ..run(1024, 0.0)
    });
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
        programs: Vec::new(),
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
    assert!(html.contains("default-src 'none'"));
    let closing = html.matches("</script>").count();
    let opening = html.matches("<script").count();
    assert_eq!(opening, closing, "a script was ended by its data");
}

#[test]
fn a_single_run_and_failures_alone_have_a_page() {
    let one = render(&log(vec![run(1024, 900.0)], "one"));
    assert!(
        one.contains("Throughput is 900 Mbit/s")
            && one.contains("A single run says nothing about the spread")
    );
    let failed = Found {
        error: Some("no route".into()),
        ..run(1024, 0.0)
    };
    let none = render(&log(vec![failed.clone(), failed], "none"));
    assert!(none.contains("No run has a result that can be used.") && none.contains("no route"));
    assert!(!none.contains("<figure"), "nothing is drawn");
    assert_eq!(none.matches("No run has a result").count(), 1, "said once");
    assert!(
        !none.contains(">Table</h2>")
            && !none.contains(">What limited it<")
            && none.contains("planned in 1 cell;")
    );
}

#[test]
fn of_many_runs_a_sample_is_drawn_and_said() {
    let many: Vec<Found> = (0..12_000)
        .map(|n| run(1024 << (n % 4), 1000.0 + f64::from(n * 37 % 101)))
        .collect();
    let html = render(&log(many, "many"));
    assert!(
        html.contains("Sampled: 4000 of 12000 runs are drawn, evenly chosen."),
        "said"
    );
    assert!(html.contains("500 of 12000 runs are listed"));
    assert!(html.len() < 8 << 20, "{} bytes", html.len());
}

#[test]
fn of_many_runs_the_page_stays_small_however_many_cells_they_are_of() {
    for cells in [1, 100, 500] {
        let many = (0..3000).map(|n| run(64 + n % cells * 16, 1000.0 + (n * 37 % 101) as f64));
        let html = render(&log(many.collect(), "many"));
        assert!(
            html.len() < 10 << 20,
            "{} bytes of {cells} cells",
            html.len()
        );
        let legend = chart(&html, 0).legend;
        assert_eq!(
            (legend.is_some(), html.contains("rows</summary>")),
            (false, cells > 60),
            "{cells} cells"
        );
        for file in files(&html) {
            let rows = file.1.lines().count();
            assert!(rows <= 2001, "{rows} rows in {}", file.0);
        }
        assert!(
            html.contains("The file holds 2000 of 3000 rows, evenly chosen."),
            "said of {cells} cells"
        );
    }
}

/// The names and texts of the files that the links save.
fn files(html: &str) -> Vec<(String, String)> {
    let links = html.split("<a class=\"save\" download=\"").skip(1);
    links
        .map(|link| {
            let mut parts = link.split('"');
            let name = parts.next().expect("a name").to_owned();
            let data = parts.nth(1).expect("data");
            let text = data
                .strip_prefix("data:text/csv;charset=utf-8,")
                .expect("CSV");
            (name, decoded(text))
        })
        .collect()
}

/// The text that was written with `%0A` and the like.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).expect("hexadecimal"));
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn a_link_saves_the_runs_of_its_chapter() {
    let failed = Found {
        error: Some("no route".into()),
        ..run(1024, 0.0)
    };
    let logs = [
        log(vec![run(1024, 900.0)], "good"),
        log(vec![failed.clone()], "bad"),
        log(vec![failed], "worse"),
    ];
    let executions = logs.iter().map(|events| {
        let name = named("", events).summary.study.name;
        named(&name, events)
    });
    let html = of(executions.collect());
    let of_runs = files(&html).into_iter().filter(|file| file.0 == "runs.csv");
    let runs: Vec<String> = of_runs
        .filter_map(|file| Some(file.1.lines().nth(1)?.split(',').next()?.to_owned()))
        .collect();
    assert_eq!(runs, ["good", "bad", "worse"]);
}

#[test]
fn messages_and_segments_have_pictures_of_their_own() {
    let runs = [512, 1024, 2048, 8192].into_iter().flat_map(|size| {
        [0.0, 10.0].map(|spread| {
            let mut run = run(size, 900.0 + spread);
            run.run
                .figures
                .insert("segment_size_bytes".into(), size as f64);
            run
        })
    });
    let html = rendered(&log(runs.collect(), "mss"), |summary| {
        summary.study.pictures = Some(vec![Picture::plain(PictureKind::Cost)]);
    });
    let of = |unit: &str| format!("CPU time of a {unit} to send.");
    assert_eq!(titles(&html), [of("message"), of("segment")]);
    for (number, unit) in ["message", "segment"].into_iter().enumerate() {
        let chart = chart(&html, number);
        assert_eq!(chart.axis(true).title, format!("{unit} size (bytes)"));
        assert_eq!(chart.names(), ["means", "line"], "points and line");
    }
}

#[test]
fn a_paper_s_averages_are_next_to_the_medians() {
    let csv = include_str!("../../../import/tests/fixtures/tcp-mss-offloads-on.csv");
    let found = bitcost_import::read("tcp-mss-offloads-on.csv", csv.as_bytes()).expect("a table");
    let html = render(&log(found, "paper"));
    let spread = html
        .split("<summary>Spread of the runs</summary>")
        .nth(1)
        .expect("a folded table");
    let spread = spread.split("</details>").next().expect("its end");
    for (size, runs, mean) in [("1024", 13, "11495.8"), ("8192", 7, "30024.4")] {
        assert!(
            spread.contains(&format!(
                "<th scope=\"row\">{size}</th><td>{runs}</td><td>{mean}</td>"
            )),
            "{spread}"
        );
    }
    for name in ["mean", "standard deviation", "least", "median", "largest"] {
        assert!(
            spread.contains(&format!("<th scope=\"col\">{name}</th>")),
            "{name}"
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
                run.levels.insert("brand".into(), Label::Text(brand.into()));
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
            x: Some(Scale::Log),
            ..curve
        },
    ];
    let html = rendered(&brands(), |summary| summary.study.pictures = Some(wanted));
    let titles = titles(&html);
    assert_eq!(
        titles,
        [
            "Figure 1. Throughput against message_size_bytes.",
            "Throughput against message_size_bytes."
        ]
    );
    assert!(html.contains("the bars show the minimum and the maximum of the runs"));
    let charts = [0, 1].map(|number| chart(&html, number));
    let [line] = &charts[0].traces[..] else {
        panic!("one brand is drawn: {:?}", charts[0].names())
    };
    assert_eq!(line.y()[0], 510.0);
    let first = &line.marks[0];
    assert_eq!(
        (first.low.as_deref(), first.high.as_deref()),
        (Some("500"), Some("530"))
    );
    let scales = charts.map(|chart| chart.axis(true).scale.clone());
    assert_eq!(scales, ["linear", "log"]);
    assert!(
        html.contains("Save curve-throughput_mbps 2.csv"),
        "files have names of their own"
    );
}

#[test]
fn the_document_is_next_to_our_figures() {
    let wanted = [PictureKind::Medians, PictureKind::Curve]
        .map(Picture::plain)
        .to_vec();
    let html = rendered(&brands(), |summary| {
        summary.study.pictures = Some(wanted);
        summary.study.expect = Some(Expect {
            source: HOSTILE.into(),
            ..Expect::default()
        });
        summary.cells[0].expected = vec![("throughput_mbps".into(), 1820.0)];
    });
    assert!(
        html.contains("Compared with the document") && html.contains("ours ÷ document"),
        "a table"
    );
    assert!(
        html.contains("<td>910 [900, 930]</td><td>1820</td><td>×0.500</td>"),
        "ours, theirs, and how they differ"
    );
    let bars = chart(&html, 0);
    let lengths: Vec<Vec<f64>> = bars.traces.iter().map(Trace::x).collect();
    assert_eq!(
        lengths,
        [[910.0], [1820.0]],
        "of the cell that it has alone"
    );
    assert_eq!(
        bars.legend.as_deref(),
        Some(&["Throughput, ours", "Throughput, document"].map(String::from)[..])
    );
    let curve = chart(&html, 1);
    let signs = curve
        .traces
        .iter()
        .filter(|trace| trace.class.starts_with("points"));
    let signs: Vec<Vec<f64>> = signs.map(Trace::y).collect();
    assert_eq!(signs, [[1820.0]]);
}

/// Ten runs of each of two sizes, the larger one `factor` times as fast as 1000 Mbit/s.
fn sizes(factor: f64) -> Vec<Event> {
    let speed = |size: i64| {
        if size == 2048 {
            1000.0 * factor
        } else {
            1000.0
        }
    };
    let runs = (0..20_i64).map(|number| {
        let size = 1024 << (number % 2);
        run(size, speed(size) + number as f64 / 10.0)
    });
    log(runs.collect(), "sizes")
}

#[test]
fn of_two_executions_the_changes_stand_first() {
    let logs = [sizes(1.0), sizes(1.5)];
    let executions = logs
        .iter()
        .zip(["before", HOSTILE])
        .map(|(events, name)| named(name, events));
    let html = of(executions.collect());
    assert!(!html.contains("<img"), "words became markup");
    let changes = html.find("What changed").expect("a chapter");
    assert!(
        changes < html.find(">Table</h2>").expect("the first execution's own"),
        "before the others"
    );
    let headline = html
        .split("<p class=\"answer\">")
        .nth(1)
        .and_then(|rest| rest.split("</p>").next());
    assert_eq!(
        headline,
        Some(
            "Throughput rises from 1001 to 1501 Mbit/s with 2048 (+50.0 % [+49.9, +50.0], better); of 2 figures 1 is better."
        )
    );
    assert!(html.contains("2 figures: 1 better, 1 same"), "how many");
    assert_eq!(titles(&html)[0], "Throughput, change.");
    let points = chart(&html, 0);
    let of_verdict = |name: &str| {
        let found = points.traces.iter().find(|points| points.name == name);
        found.expect("a verdict")
    };
    assert_eq!(of_verdict("same").rows(), ["1024"]);
    let better = of_verdict("better");
    assert_eq!(better.rows(), ["2048"]);
    assert_eq!(better.marks[0].sign, "triangle-up");
    let change = better.x()[0];
    assert!((change - 50.0).abs() < 0.1, "{change}");
}

/// With one size, retransmissions appear where there were none, and throughput is no longer
/// measured.
#[test]
fn what_has_no_ratio_is_drawn_in_its_unit_and_what_is_missing_is_a_row() {
    let with = |retransmits: f64, is_measured: bool| {
        let runs = (0..20_i64).map(|number| {
            let mut run = run(1024 << (number % 2), 1000.0 + number as f64 / 10.0);
            if number % 2 == 1 {
                run.run.figures.insert(
                    "retransmits".into(),
                    retransmits * (10.0 + number as f64 / 100.0),
                );
                run.run
                    .figures
                    .retain(|name, _| is_measured || name != "throughput_mbps");
            }
            run
        });
        log(runs.collect(), "sizes")
    };
    let logs = [with(0.0, true), with(1.0, false)];
    let executions = logs
        .iter()
        .zip(["before", "after"])
        .map(|(events, name)| named(name, events));
    let html = of(executions.collect());
    assert!(
        html.contains("<td>-</td><td>missing</td>"),
        "the change, and its verdict"
    );
    assert!(
        html.contains("difference-retransmits"),
        "a picture in its own unit"
    );
    let points = chart(&html, 1);
    let [retransmits] = &points.traces[..] else {
        panic!("one verdict: {:?}", points.names())
    };
    assert_eq!(
        (retransmits.name.as_str(), &retransmits.rows()[..]),
        ("worse", &["2048"][..])
    );
    let change = retransmits.x()[0];
    assert!((change - 10.1).abs() < 0.1, "{change}");
}

#[test]
fn statements_have_their_verdict_interval_and_bounds() {
    let claim = |interval, runs, verdict| ClaimSummary {
        claim: Claim {
            metric: "throughput_mbps".into(),
            figure: Figure::Value(Levels::new()),
            at_least: Some(1.0),
            at_most: None,
        },
        levels: Levels::new(),
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
        html.contains("2 statements computed from these runs: 1 pass, 1 cannot tell."),
        "counted"
    );
    assert!(html.contains("<b class=\"verdict pass\">pass</b> It is fast"));
    assert!(html.contains("<b class=\"verdict cannot_tell\">cannot tell</b> Throughput: 1.50 [0.50, 2.50] (too few: 2 runs); expected at least 1"));
    assert!(!html.contains("<img"), "words became markup");
}

#[test]
fn every_chapter_has_links_to_its_sections_and_no_two_regions_one_name() {
    let logs = [sizes(1.0), sizes(1.5)];
    let executions = logs.iter().map(|events| named("same", events));
    let html = of(executions.collect());
    assert_eq!(
        html.matches("<nav class=\"contents\"").count(),
        3,
        "what changed, and both"
    );
    let links: Vec<&str> = html
        .split("href=\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(links.len() > 15, "{links:?}");
    for link in &links {
        assert_eq!(
            html.matches(&format!("<h2 id=\"{link}\">")).count(),
            1,
            "{link}"
        );
    }
    let mut labels: Vec<&str> = html
        .split("aria-label=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let all = labels.len();
    labels.sort_unstable();
    labels.dedup();
    assert_eq!(labels.len(), all, "{labels:?}");
    assert!(
        labels.contains(&"2. same: Hosts") || labels.contains(&"2. same: Runs in their order"),
        "{labels:?}"
    );
}

#[test]
fn of_files_of_other_programs_no_settings_are_claimed() {
    let html = render(&log(vec![run(1024, 900.0), run(1024, 910.0)], "two"));
    assert!(
        html.contains("Every run has its place in the table.")
            && !html.contains("all settings in effect")
    );
}

#[test]
fn where_nothing_changed_the_headline_says_so() {
    let logs = [sizes(1.0), sizes(1.0)];
    let executions = logs
        .iter()
        .zip(["before", "after"])
        .map(|(events, name)| named(name, events));
    let html = of(executions.collect());
    assert!(
        html.contains(
            "<p class=\"answer\">Nothing changed: 2 figures are the same within 3 %.</p>"
        ),
        "one sentence"
    );
}
