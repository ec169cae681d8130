//! Deaths at named steps and at random times: the short form of `cargo xtask chaos`.

use std::path::Path;
use std::time::Duration;

use chaos::Plan;

fn main() {
    testkit::main(vec![("whoever_dies_at_whichever_step_the_hosts_are_as_before", few_deaths)]);
}

/// On a machine that is busy with other tests too.
const LIMIT: Duration = Duration::from_secs(20);

fn few_deaths() {
    let needed = ["ethtool", "ip", "tc", "nsenter"];
    if let Some(missing) = needed.into_iter().find(|name| !is_installed(name)) {
        testkit::ignore(&format!("{missing} is not installed"));
    }
    let plan = Plan { kills: 24, seed: std::process::id().into(), limit: LIMIT, stops: false };
    let tally = chaos::run(Path::new(env!("CARGO_BIN_EXE_bitcost")), plan, &mut |line| eprintln!("{line}")).unwrap();
    assert!(tally.wrong().is_empty(), "{tally}");
}

fn is_installed(name: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':').any(|folder| Path::new(folder).join(name).exists())
}
