//! What a page holds and what it can never do: load something, or take words for markup.

use import::{Found, Head};
use model::event::{EndDescription, Event};
use model::imported::ImportedInterval;
use model::machine::HostDescription;
use model::record::Role;
use model::study::Label;
use page::{Maker, Source, page};
use report::Summary;
use report::frame::Execution;

const HOSTILE: &str = "</script><script>alert(1)</script>\"><img src=http://evil.example/x onerror=alert(1)>";

fn run(size: i64, mbps: f64) -> Found {
    let mut found = Found::default();
    found.levels.insert("message_size_bytes".into(), Label::Number(size));
    found.run.tool = "iperf3".into();
    found.run.file = "x.json".into();
    found.run.figures.insert("throughput_mbps".into(), mbps);
    found.run.figures.insert("send_service_demand_us_per_kib".into(), 1.0 + 1000.0 / size as f64);
    let figures = [("throughput_mbps", mbps), ("rtt_us", 100.0), ("retransmits", 1.0)];
    let figures: std::collections::BTreeMap<String, f64> =
        figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
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
    import::execution(found, Head { name, version: "0.1.0", at: "2026-11-21T10:00:00Z", command_line })
}

fn render(events: &[Event]) -> String {
    let summary = Summary::from_events(events).expect("a whole log");
    let source = Source { path: HOSTILE.into(), bytes: 7, sha256: "00ff".into() };
    let maker = Maker { version: "0.1.0".into(), command_line: vec![HOSTILE.into()], at: "now".into() };
    page(&[(Execution { name: HOSTILE.into(), events, summary }, source)], &maker)
}

/// What is outside of scripts' own text.
fn without_plotly(html: &str) -> String {
    let begin = html.find("plotly.js v").expect("the script");
    let end = begin + html[begin..].find("</script>").expect("its end");
    format!("{}{}", &html[..begin], &html[end..])
}

#[test]
fn nothing_is_loaded_and_words_are_no_markup() {
    let mut runs = vec![run(1024, 900.0), run(8192, 4000.0), run(1024, 950.0)];
    runs[0].levels.insert("brand".into(), Label::Text(HOSTILE.into()));
    runs.push(Found { error: Some(HOSTILE.into()), ..run(1024, 0.0) });
    let mut events = log(runs, HOSTILE);
    let host = HostDescription { host_name: HOSTILE.into(), ..HostDescription::default() };
    let end = |role| EndDescription { role, place: HOSTILE.into(), host: host.clone() };
    let prepared = Event::Prepared {
        lab: None,
        ends: vec![end(Role::Sender), end(Role::Receiver)],
        shared_cpus: false,
        notes: vec![HOSTILE.into()],
        hosts: Default::default(),
        rtt: None,
    };
    events.insert(2, prepared);
    let html = without_plotly(&render(&events));
    assert!(!html.contains("<img") && !html.contains("<script>alert"), "words became markup");
    assert!(html.contains("&lt;img src=http://evil.example"));
    for loads in ["src=\"", "href=\"http", "@import", "url(http", "<iframe", "<link rel=\"stylesheet"] {
        assert!(!html.contains(loads), "{loads}");
    }
    assert!(html.contains("default-src 'none'"));
    let closing = html.matches("</script>").count();
    let opening = html.matches("<script").count();
    assert_eq!(opening, closing, "a script was ended by its data");
}

#[test]
fn the_answer_and_every_section_are_there() {
    let html = render(&log(vec![run(1024, 900.0), run(8192, 4000.0), run(1024, 950.0), run(8192, 4100.0)], "four"));
    assert!(html.contains("Throughput is highest with 8192 (4050 [4000, 4100] Mbit/s) and lowest with 1024"), "answer");
    for wanted in [
        "Percentiles",
        "Spread",
        "Against size",
        "Within a run",
        "In order",
        "What must be known",
        "SHA-256 of the log",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
    assert!(html.contains("throughput_mbps.csv") && html.contains("Save runs.csv"));
}

#[test]
fn a_single_run_and_failures_alone_have_a_page() {
    let one = render(&log(vec![run(1024, 900.0)], "one"));
    assert!(one.contains("Throughput is 900 Mbit/s") && one.contains("One run says nothing about the spread"));
    let failed = Found { error: Some("no route".into()), ..run(1024, 0.0) };
    let none = render(&log(vec![failed.clone(), failed], "none"));
    assert!(none.contains("No run has a result that can be used.") && none.contains("no route"));
    assert!(!none.contains("plotly.js v"), "nothing is drawn");
}

#[test]
fn of_many_runs_a_sample_is_drawn_and_said() {
    let many: Vec<Found> = (0..12_000).map(|n| run(1024 << (n % 4), 1000.0 + f64::from(n * 37 % 101))).collect();
    let html = render(&log(many, "many"));
    assert!(html.contains("Sampled: 4000 of 12000 runs are drawn, evenly chosen."), "said");
    assert!(html.contains("500 of 12000 runs are listed"));
    assert!(html.len() < 8 << 20, "{} bytes", html.len());
}
