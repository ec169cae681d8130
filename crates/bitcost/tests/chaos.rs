//! Deaths at named steps and at random times: the short form of `cargo xtask chaos`.

// What a test prints is read by its harness.
#![allow(clippy::disallowed_macros)]

use std::path::Path;
use std::time::Duration;

use chaos::Plan;

fn main() {
    testkit::main(vec![
        ("whoever_dies_at_whichever_step_the_hosts_are_as_before", few_deaths),
        ("a_whole_run_leaves_an_unusual_host_as_before_or_says_what_it_left", whole_runs),
    ]);
}

/// On a machine that is busy with other tests too.
const LIMIT: Duration = Duration::from_secs(20);

/// Ignores the trial where one of these programs is not installed.
fn need(programs: &[&str]) {
    if let Some(missing) = programs.iter().find(|name| !is_installed(name)) {
        testkit::ignore(&format!("{missing} is not installed"));
    }
}

fn few_deaths() {
    need(&["ethtool", "ip", "tc", "nsenter", "unshare"]);
    let plan = Plan { kills: 24, seed: std::process::id().into(), limit: LIMIT, stops: false };
    let tally = chaos::run(Path::new(env!("CARGO_BIN_EXE_bitcost")), plan, &mut |line| eprintln!("{line}")).unwrap();
    assert!(tally.wrong().is_empty(), "{tally}");
}

fn whole_runs() {
    need(&["ip", "tc", "nsenter", "unshare"]);
    let program = Path::new(env!("CARGO_BIN_EXE_bitcost"));
    match chaos::whole_runs(program, LIMIT, &mut |line| eprintln!("{line}")) {
        Ok(wrong) => assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), chaos::whole_run_count()),
        Err(reason) => testkit::ignore(&reason),
    }
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':').any(|folder| Path::new(folder).join(name).exists())
}
