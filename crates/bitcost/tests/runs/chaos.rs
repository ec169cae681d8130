//! Processes killed at named steps and at random times: the short form of `cargo xtask chaos`.

// The test harness reads what a test prints.
#![allow(clippy::disallowed_macros)]

use crate::bench::*;
use bitcost_testkit::chaos::Plan;

bitcost_testkit::trials! {
    PrivateNetwork: deaths_at_any_step_leave_the_hosts_restored, whole_run_on_an_unusual_host_restores_it;
}

/// The time limit of a trial, on a machine that is also busy with other tests.
const LIMIT: Duration = Duration::from_secs(60);

fn deaths_at_any_step_leave_the_hosts_restored() {
    need(&["ethtool", "ip", "tc", "nsenter", "unshare"]);
    let seed = std::process::id().into();
    let plan = Plan {
        kills: 12,
        seed,
        limit: LIMIT,
        stops: false,
    };
    let tally = bitcost_testkit::chaos::run(
        Path::new(env!("CARGO_BIN_EXE_bitcost")),
        plan,
        &mut |line| eprintln!("{line}"),
    )
    .unwrap();
    assert!(
        tally.wrong().is_empty(),
        "{tally}; again: cargo xtask chaos --seed {seed}"
    );
}

fn whole_run_on_an_unusual_host_restores_it() {
    need(&["ip", "tc", "nsenter", "unshare"]);
    let program = Path::new(env!("CARGO_BIN_EXE_bitcost"));
    match bitcost_testkit::chaos::whole_runs(program, LIMIT, &mut |line| eprintln!("{line}")) {
        Ok(wrong) => {
            assert!(
                wrong.is_empty(),
                "{} of {}: {wrong:#?}",
                wrong.len(),
                bitcost_testkit::chaos::whole_run_count()
            )
        }
        Err(reason) => bitcost_testkit::ignore(&reason),
    }
}
