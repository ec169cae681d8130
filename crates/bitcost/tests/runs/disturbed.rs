//! Another program's CPU time is found by its own clock, and nothing of the run is taken for one.

use std::process::{Child, Command};

use bitcost_model::counters::ForeignLoad;
use bitcost_model::event::Event;

use crate::bench::Bench;

bitcost_testkit::trials! {
    QuietHost: burner_is_named_and_the_run_is_not;
}

/// Works for 30 of every 100 ms, or does nothing.
struct Burner(Child);

impl Burner {
    fn start() -> Burner {
        let work = "import time\nwhile True:\n e=time.thread_time()+.03\n while time.thread_time()<e: pass\n time.sleep(.07)";
        let mut command = Command::new("python3");
        Burner(command.args(["-c", work]).spawn().expect("python3"))
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The load of other programs in the only run of a test, as its sender's agent reports it.
fn load() -> ForeignLoad {
    let bench = Bench::new();
    let words = ["test", "tcp", "-t", "1s", "-O", "100ms"];
    bench.bitcost(&words).assert_code(0);
    let ended = bench
        .log()
        .events
        .into_iter()
        .find_map(|event| match event {
            Event::RunEnded { sender, .. } => Some(sender),
            _ => None,
        });
    let Some(load) = ended.expect("a run").foreign else {
        bitcost_testkit::ignore("not all processes can be seen here");
    };
    load
}

fn burner_is_named_and_the_run_is_not() {
    if Command::new("python3").arg("--version").output().is_err() {
        bitcost_testkit::ignore("python3 is missing");
    }
    let burner = Burner::start();
    let load = load();
    let found = load
        .programs
        .iter()
        .find(|program| program.pid == burner.0.id());
    let found = found.unwrap_or_else(|| panic!("{load:?}"));
    assert!(
        found.name.starts_with("python3") && found.cpu_ns > 0,
        "{load:?}"
    );
    // The run used more than a CPU; its own threads and agents are in nobody's load.
    let own = ["bitcost", "exe", "napi"];
    assert!(
        load.programs
            .iter()
            .all(|program| !own.iter().any(|name| program.name.starts_with(name))),
        "{load:?}"
    );
}
