//! `bitcost test --prove` and `bitcost improve`: experiments, and what is read of them again.

use crate::bench::*;

bitcost_testkit::trials! {
    Host: rate_of_a_link_is_changed_and_its_verdict_proved, packets_that_are_not_full_are_filled, small_buffer_is_found_and_the_ladder_read_again;
}

/// Two hosts and a link of 20 Mbit/s.
const LAB: &str = r#"hosts = ["h1", "h2"]
[[link]]
ends = ["h1", "h2"]
[egress.h1-eth0]
rate = "20M"
"#;

fn tried<'a>(document: &'a Value, name: &str) -> &'a Value {
    let all = document["bottleneck"]["proof"]["tried"].as_array();
    let mut found = all.expect("experiments").iter();
    found
        .find(|one| one["label"] == name)
        .unwrap_or_else(|| panic!("no {name}: {document:#}"))
}

/// The links are slower in the runs of one change, and the throughput follows them.
fn rate_of_a_link_is_changed_and_its_verdict_proved() {
    let bench = Bench::new();
    bench.write("lab.toml", LAB);
    let words = split("test tcp --topology lab.toml -t 1 --prove --json");
    let done = bench.bitcost(&words).with_code(0);
    let document = done.json();
    let proof = &document["bottleneck"]["proof"];
    if proof["tried"]
        .as_array()
        .is_some_and(|tried| tried.iter().all(|one| one["label"] != "path_rate"))
    {
        bitcost_testkit::ignore("this host was too busy for the link to be the suspect");
    }
    let ratio = &tried(&document, "path_rate")["rate_ratio"]["value"];
    let ratio = ratio.as_f64().expect("a ratio");
    assert!((0.4..0.6).contains(&ratio), "{ratio}: {proof:#}");
    let proved = document["bottleneck"]["confidence"] == "proved";
    let found = proof["outcome"].as_str().expect("an outcome");
    assert_eq!(
        proved,
        ["proved", "refuted", "found"].contains(&found),
        "{proof:#}"
    );
    let trials = bench.log().events.into_iter();
    let trials = trials.filter(|event| matches!(event, Event::Tried { .. }));
    assert!(trials.count() > 1, "every trial is an event of the log");
    let folder = bench.execution_name();
    let again = bench.bitcost(&["show", &folder, "--json"]).with_code(0);
    assert_eq!(again.json()["bottleneck"]["proof"], *proof);
    let explained = bench.bitcost(&["explain", &folder]);
    explained.assert_prints("experiment: ");
    bench.assert_nothing_left();
}

/// Where the verdict is that packets are not full, settings that fill them are tried or refused.
fn packets_that_are_not_full_are_filled() {
    let bench = Bench::new();
    let words =
        split("test tcp --topology pair -l 1K -C reno -t 1 --prove --budget 15s --no-log --json");
    let done = bench.bitcost(&words).with_code(0);
    let document = done.json();
    let proof = &document["bottleneck"]["proof"];
    if proof["named"]["limiter"] != "sender_cpu"
        || document["cells"][0]["foreign_cpu_pct"]["median"].as_f64() > Some(10.0)
    {
        bitcost_testkit::ignore("this host was too busy for the sender's CPU to be the suspect");
    }
    if document["bottleneck"]["confidence"] == "proved" {
        // What was not needed for that is not tried.
        return bench.assert_nothing_left();
    }
    let names = |list: &str| {
        let all = proof[list].as_array().expect("a list").iter();
        all.map(|one| one["label"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let all = [names("tried"), names("not_tried")].concat();
    for name in [
        "receive buffer 48 KiB",
        "a low-water mark of 32 KiB",
        "send mode writev",
    ] {
        assert!(all.iter().any(|one| one == name), "{name}: {proof:#}");
    }
    bench.assert_nothing_left();
}

/// Two hosts and a link of 20 Mbit/s with a delay.
const DELAYED: &str = r#"hosts = ["h1", "h2"]
[[link]]
ends = ["h1", "h2"]
[egress.h1-eth0]
rate = "20M"
delay = "20ms"
"#;

/// A receive buffer that holds a part of 20 Mbit/s is raised; what was found is what the logs say.
fn small_buffer_is_found_and_the_ladder_read_again() {
    let bench = Bench::new();
    bench.write("lab.toml", DELAYED);
    let words = "improve tcp --topology lab.toml --receive-buffer 16K --send-buffer 96K -t 500ms --budget 45s --json";
    let done = bench
        .bitcost(&words.split(' ').collect::<Vec<_>>())
        .with_code(0);
    let document = done.json();
    let ladder = &document["ladder"];
    let folder = bench.execution();
    let again = bench
        .bitcost(&["show", &folder.display().to_string(), "--json"])
        .with_code(0);
    assert_eq!(again.json()["ladder"], *ladder);
    let text = bench
        .bitcost(&["show", &folder.display().to_string()])
        .stdout;
    assert_says(&text, &["limited by", "µs/KiB", "step"]);
    bench.assert_nothing_left();
    let steps = ladder["steps"].as_array().expect("steps");
    let Some(change) = steps.get(1).map(|step| &step["change"]) else {
        bitcost_testkit::ignore("this host was too busy for a change to be decided");
    };
    assert!(
        change["label"]
            .as_str()
            .expect("a label")
            .contains("receive buffer"),
        "{ladder:#}"
    );
    assert_says(change["keep"].as_str().expect("words"), &["SO_RCVBUF"]);
    let rate = |step: &Value| step["rate"]["value"].as_f64().expect("a rate");
    assert!(rate(&steps[1]) > 1.5 * rate(&steps[0]), "{ladder:#}");
}
