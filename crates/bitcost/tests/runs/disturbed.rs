//! Another program's CPU time is found by its own clock, and nothing of the run is taken for one.

use crate::bench::*;
use std::collections::BTreeSet;

use bitcost_model::counters::ForeignLoad;

use crate::server::Server;

bitcost_testkit::trials! {
    QuietHost: both_ends_of_a_service_are_of_the_run, a_burner_is_a_caveat_and_no_verdict;
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

/// The load of other programs in the only run of a test, as the agents of both ends report it.
fn loads(bench: &Bench) -> [ForeignLoad; 2] {
    let run = ended(&bench.log()).remove(0);
    run.ends.map(|end| {
        let load = end.foreign;
        load.unwrap_or_else(|| bitcost_testkit::ignore("not all processes can be seen here"))
    })
}

/// A service on this host, as another user where that is possible: neither end may read the other's
/// environment then.
fn service(bench: &Bench) -> (Server, String) {
    let mut command = bench.command(
        &crate::bench::program(),
        &["serve", "127.0.0.1:0", "--state", "state"],
    );
    let mut server = Server::start(command.env("BITCOST_STATE_DIR", bench.path()));
    let said = [(); 2].map(|()| server.line()).concat();
    let (_, link) = said.split_once("bitcost://").expect(&said);
    let (link, _) = link.split_once('\'').expect(&said);
    (server, format!("bitcost://{link}"))
}

fn both_ends_of_a_service_are_of_the_run() {
    let other_user = (bitcost_sys::process::effective_uid() == 0).then_some(65_534);
    let (served, client, somebody) = (
        other_user.map_or_else(Bench::new, Bench::of_user),
        Bench::new(),
        Bench::new(),
    );
    let (_server, link) = service(&served);
    let words = ["test", "tcp", &link, "-t", "1s", "-O", "100ms"];
    let mut command = client.command(&crate::bench::program(), &words);
    let mut testing = command
        .env("BITCOST_STATE_DIR", client.path())
        .spawn()
        .expect("bitcost");
    let others = somebody.start(&["test", "tcp", "-t", "30s"]);
    let (mut own, mut foreign) = (BTreeSet::new(), BTreeSet::new());
    while testing.try_wait().expect("a child").is_none() {
        own.extend(
            [&served, &client]
                .map(|bench| bench.family.members())
                .concat(),
        );
        foreign.extend(somebody.family.members());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    drop(others);
    for load in loads(&client) {
        let pids = load.programs.iter().map(|program| program.pid);
        let (mut of_run, mut of_others) = (pids.clone(), pids);
        assert!(!of_run.any(|pid| own.contains(&pid)), "{load:?} {own:?}");
        // Somebody else's test is foreign, though its processes have the same name.
        assert!(
            of_others.any(|pid| foreign.contains(&pid)),
            "{load:?} {foreign:?}"
        );
        let of_bitcost = load
            .programs
            .iter()
            .filter(|program| foreign.contains(&program.pid));
        of_bitcost.for_each(|program| assert_eq!(program.name, "bitcost"));
    }
}

fn a_burner_is_a_caveat_and_no_verdict() {
    if Command::new("python3").arg("--version").output().is_err() {
        bitcost_testkit::ignore("python3 is missing");
    }
    let burner = Burner::start();
    for workload in ["tcp", "rr"] {
        let bench = Bench::new();
        let done = bench
            .bitcost(&["test", workload, "-t", "1s", "-O", "100ms"])
            .with_code(0);
        let [load, _] = loads(&bench);
        let mut programs = load.programs.iter();
        let found = programs.find(|program| program.pid == burner.0.id());
        let found = found.unwrap_or_else(|| panic!("{load:?}"));
        assert!(
            found.name.starts_with("python3") && found.cpu_ns > 0,
            "{load:?}"
        );
        // The run's own threads and agents are in nobody's load.
        let own = ["bitcost", "exe", "napi"];
        let is_own = |name: &str| own.iter().any(|of| name.starts_with(of));
        let mut programs = load.programs.iter();
        assert!(!programs.any(|program| is_own(&program.name)), "{load:?}");
        let line = |label: &str| {
            let mut lines = done.stdout.lines();
            lines
                .find(|line| line.starts_with(label))
                .unwrap_or_default()
        };
        assert!(line("caveat").contains("other programs took"), "{done:?}");
        assert!(!line("remedy").contains("programs first"), "{done:?}");
    }
}
