//! The search for fast options: every trial is in the log, what it took is in effect, and what is given
//! is kept.

use crate::bench::*;
use bitcost_model::search::{Decision, Trial};

bitcost_testkit::trials! {
    Host: a_test_takes_what_its_search_found, resumed_execution_keeps_what_its_search_took;
}

/// Two cells, of which one asks for a search.
const STUDY: &str = r#"title = "Searched"
question = "Which options are fast?"
[lab]
topology = "pair"
[workload]
duration_s = 0.2
[[factor]]
name = "how"
levels = [{ label = "plain" }, { label = "searched", mode = "auto", search_for = "cost" }]
[run]
blocks = 1
"#;

fn searches(done: &Done) -> Vec<Value> {
    let searches = done.json()["mode_search"].as_array().cloned();
    searches.unwrap_or_default()
}

/// What a search took of a setting.
fn taken<'a>(search: &'a Value, setting: &str) -> Option<&'a Value> {
    search["steps"][1]["change"]["settings"].get(setting)
}

/// The trials in the log of an execution.
fn trials(bench: &Bench) -> Vec<Trial> {
    let events = bench.log().events.into_iter();
    let trials = events.filter_map(|event| match event {
        Event::Tried { trial } => Some(*trial),
        _ => None,
    });
    trials.collect()
}

/// The last words of the messages of an execution name the options that give the same again.
fn a_test_takes_what_its_search_found() {
    let bench = Bench::new();
    let words = split("test udp -l 1000 --mode auto --send-mode gso -t 200ms --json");
    let done = bench.bitcost(&words).with_code(0);
    let found = searches(&done);
    assert_eq!(found.len(), 1);
    let trials = trials(&bench);
    assert!(trials.len() > 2, "{trials:#?}");
    for trial in &trials {
        assert_eq!(trial.settings.get("send_mode"), None, "it was given");
        let rate = trial.measured.map(|measured| measured.rate);
        assert!(rate.is_none_or(|rate| rate > 0.0), "{trial:?}");
    }
    assert!(trials.iter().any(|of| of.measured.is_some()), "{trials:#?}");
    let mut modes = trials
        .iter()
        .filter_map(|of| of.settings.get("receive_mode"));
    assert!(modes.any(|mode| mode == "gro"), "{trials:#?}");
    let conditions = &done.json()["conditions"];
    assert_eq!(conditions["send_mode"], "gso");
    let plain = Value::from("plain");
    let taken = taken(&found[0], "receive_mode").unwrap_or(&plain);
    assert_eq!(conditions["receive_mode"], *taken);
    done.assert_says("searching for the fastest options");
    let shown = bench
        .bitcost(&["show", &bench.execution().display().to_string()])
        .with_code(0);
    let again = shown
        .stdout
        .lines()
        .find(|line| line.starts_with("without search: "));
    let again = again.unwrap_or_else(|| panic!("{}", shown.stdout));
    assert!(
        again.contains("--send-mode gso") && !again.contains("--mode"),
        "{again}"
    );
    bench.assert_nothing_left();
}

fn resumed_execution_keeps_what_its_search_took() {
    let bench = Bench::new();
    bench.write("searched.toml", STUDY);
    let words = ["run", "searched.toml", "--no-calibration", "--blocks", "2"];
    let running = bench.start(&words);
    bench.wait_for_run(&running, 1);
    running.signal(Signal::INT);
    running.finish(PATIENCE);
    bench.resume();
    let events = bench.log().events;
    let found = events.iter().filter_map(|event| match event {
        Event::Decided { decision } => match &**decision {
            Decision::Changes(ladder) => Some(ladder),
            _ => None,
        },
        _ => None,
    });
    let found: Vec<_> = found.collect();
    assert_eq!(found.len(), 1, "the search is not repeated");
    let document = bench.bitcost(&["show", "--json", bench.execution().to_str().unwrap()]);
    let all = searches(&document);
    assert_eq!(all.len(), 1, "{all:#?}");
    let shown = &all[0];
    assert_eq!((&shown["cell"], &shown["for"]), (&1.into(), &"cost".into()));
    assert_eq!(document.json()["runs"], 4, "trials are no runs");
    for path in ["/steps/0/rate/value", "/steps/1/change/settings"] {
        assert_eq!(shown.pointer(path), found[0].pointer(path), "{path}");
    }
    bench.assert_nothing_left();
}
