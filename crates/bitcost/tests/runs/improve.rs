//! `bitcost improve`: the change that gains is found, and the ladder is read again from the logs.

use std::collections::BTreeMap;

use bitcost_execute::store::LOG_NAME;
use bitcost_host::{KNOBS, Values};
use bitcost_testkit::process::eventually;
use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, PATIENCE};

bitcost_testkit::trials! {
    Host: small_buffer_is_found_and_the_ladder_read_again;
    PrivateNetwork: killed_improve_leaves_the_host_as_before;
}

/// Two hosts and a link of 20 Mbit/s with a delay.
const LAB: &str = r#"hosts = ["h1", "h2"]
[[link]]
ends = ["h1", "h2"]
[egress.h1-eth0]
rate = "20M"
delay = "20ms"
"#;

/// A receive buffer that holds a part of 20 Mbit/s is raised; what was found is what the logs say.
fn small_buffer_is_found_and_the_ladder_read_again() {
    let bench = Bench::new();
    bench.write("lab.toml", LAB);
    let words = "improve tcp --topology lab.toml --receive-buffer 16K --send-buffer 96K -t 500ms --budget 45s --json";
    let done = bench.bitcost(&words.split(' ').collect::<Vec<_>>());
    done.assert_code(0);
    let document = done.json();
    let ladder = &document["ladder"];
    let folder = bench.execution();
    assert!(folder.join("round-0-1").join(LOG_NAME).is_file());
    let again = bench.bitcost(&["show", &folder.display().to_string(), "--json"]);
    again.assert_code(0);
    assert_eq!(again.json()["ladder"]["steps"], ladder["steps"]);
    let text = bench
        .bitcost(&["show", &folder.display().to_string()])
        .stdout;
    for words in ["limited by", "µs/KiB", "step"] {
        assert!(text.contains(words), "{words}: {text}");
    }
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
    assert!(
        change["keep"]
            .as_str()
            .expect("words")
            .contains("SO_RCVBUF"),
        "{ladder:#}"
    );
    let rate = |step: &Value| step["rate"]["value"].as_f64().expect("a rate");
    assert!(rate(&steps[1]) > 1.5 * rate(&steps[0]), "{ladder:#}");
}

/// Every value of every knob of this network.
fn settings() -> BTreeMap<String, Values> {
    let of_knob = |knob: &'static dyn bitcost_host::Knob| {
        knob.subjects().into_iter().filter_map(move |subject| {
            let values = knob.observe(&subject).ok()?;
            Some((format!("{} {subject}", knob.name()), values))
        })
    };
    KNOBS.iter().flat_map(|knob| of_knob(*knob)).collect()
}

/// The controller is killed while a run has changed a setting of the host, on the way to the next change.
fn killed_improve_leaves_the_host_as_before() {
    let bench = Bench::new();
    let before = settings();
    let words = "improve tcp --sender local --receiver local -t 500ms --budget 20s --sysctl";
    let mut words: Vec<&str> = words.split(' ').collect();
    words.push("sender: net.ipv4.tcp_rmem=4096 65536 131072");
    let running = bench.start(&words);
    eventually(PATIENCE, "a round has begun", || {
        let mut executions = std::fs::read_dir(bench.path().join("bitcost-runs")).ok()?;
        let folder = executions.next()?.ok()?.path().join("round-0-1");
        folder.join(LOG_NAME).is_file().then_some(())
    });
    eventually(PATIENCE, "a setting is changed", || {
        (settings() != before).then_some(())
    });
    running.signal(Signal::KILL);
    eventually(PATIENCE, "every process is gone", || {
        bench.family.members().is_empty().then_some(())
    });
    assert_eq!(settings(), before);
    assert_eq!(running.finish(PATIENCE).code, None);
}
