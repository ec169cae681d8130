//! A mesh over the hosts of a lab: a host with a slow link is named, and an execution that was interrupted is
//! resumed.

use crate::bench::*;

bitcost_testkit::trials! {
    Host: a_host_with_a_slow_link_is_named, all_pairs_of_a_round_are_made_at_once, a_host_whose_agent_dies_loses_one_run_at_most,
        an_interrupted_mesh_leaves_nothing_and_is_resumed;
}

/// Eight hosts of which one has a tenth of the rate.
fn study(mesh: &str) -> String {
    // Only of the screen are rates judged.
    let duration_s = if mesh.is_empty() { 0.5 } else { 0.2 };
    let mut text = format!(
        "title = \"A mesh\"\nquestion = \"Which host is slow?\"\n[mesh]\n{mesh}\n[workload]\nduration_s = {duration_s}\nwarmup_s = 0.1\n[lab]\nswitches = [\"s1\"]\nhosts = ["
    );
    text += &(1..=8)
        .map(|host| format!("\"h{host}\""))
        .collect::<Vec<_>>()
        .join(", ");
    text += "]\n";
    for host in 1..=8 {
        let rate = if host == 3 { "10M" } else { "100M" };
        text += &format!("[[lab.link]]\nends = [\"h{host}\", \"s1\"]\nrate = \"{rate}\"\n");
    }
    text
}

/// The document of a mesh of which every run has a result.
fn measured(mesh: &str) -> Value {
    let bench = Bench::new();
    bench.write("mesh.toml", &study(mesh));
    let done = bench
        .bitcost(&["run", "mesh.toml", "--seed", "1", "--json", "--out", "runs"])
        .with_code(0);
    bench.assert_nothing_left();
    done.json()
}

fn a_host_with_a_slow_link_is_named() {
    let mesh = &measured("")["mesh"];
    assert_eq!(mesh["pattern"], "screen");
    let outliers = mesh["outliers"].as_array().expect("outliers");
    let slow = outliers.first().expect("an outlier");
    assert_eq!(
        (&slow["kind"], &slow["sender"]),
        (&"host".into(), &"h3".into())
    );
    let least = |name: &str, least: f64| slow[name].as_f64().is_some_and(|of| of <= least);
    assert!(least("pct", -70.0) && least("score", -6.0), "{mesh}");
}

fn all_pairs_of_a_round_are_made_at_once() {
    assert_eq!(
        measured("pattern = \"ring\"\nconcurrent = true")["runs"],
        16
    );
}

/// The runs of a mesh that is resumed, without those that have no result.
fn resumed(bench: &Bench) -> (Value, usize) {
    let document = bench.resume();
    let excluded = document["excluded"].as_array().map_or(0, Vec::len);
    bench.assert_nothing_left();
    (document["runs"].clone(), excluded)
}

fn a_host_whose_agent_dies_loses_one_run_at_most() {
    let bench = Bench::new();
    bench.write("mesh.toml", &study("pattern = \"ring\""));
    let running = bench.start(&["run", "mesh.toml", "--seed", "1"]);
    bench.wait_for_run(&running, 1);
    let agents = bench.family.members_with("agent", "h3-eth0");
    assert_eq!(agents.len(), 1, "{agents:?}");
    signal(agents[0], Signal::KILL);
    let done = running.finish(PATIENCE);
    bench.assert_nothing_left();
    let failed = failed(&bench.log());
    assert!(failed.len() <= 1, "{failed:?}");
    done.assert_code(i32::from(!failed.is_empty()));
    assert!(
        failed.values().all(|reason| reason.contains("signal: 9")),
        "{failed:?}"
    );
    assert_eq!(resumed(&bench), (16.into(), 0));
}

fn an_interrupted_mesh_leaves_nothing_and_is_resumed() {
    let bench = Bench::new();
    bench.write("mesh.toml", &study("pattern = \"ring\""));
    let running = bench.start(&["run", "mesh.toml", "--seed", "1"]);
    bench.wait_for_run(&running, 2);
    running.signal(Signal::INT);
    let done = running.finish(PATIENCE);
    bench.assert_nothing_left();
    done.assert_says("resume: bitcost run --resume");
    assert_eq!(resumed(&bench), (16.into(), 0));
}
