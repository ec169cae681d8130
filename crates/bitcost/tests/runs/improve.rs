//! `bitcost improve`: the change that gains is found, and the ladder is read again from the logs.

use bitcost_testkit::assert_says;
use serde_json::Value;

use crate::bench::Bench;

bitcost_testkit::trials! {
    Host: small_buffer_is_found_and_the_ladder_read_again;
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
    let again = bench.bitcost(&["show", &folder.display().to_string(), "--json"]);
    again.assert_code(0);
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
