//! `bitcost ping` where the kernel lets groups ping, and where it lets none: a process that may open raw sockets pings all the same.

use std::fs;
use std::process::{Command, Output};

bitcost_testkit::trials! {
    PrivateNetwork: ping_needs_a_group_or_raw_sockets, ping_takes_the_options_of_scripts;
}

const GROUPS: &str = "/proc/sys/net/ipv4/ping_group_range";

fn ping(before: &[&str], to: &str) -> Output {
    let words = ["ping", "-c", "3", "-i", "10ms", to];
    let all = [before, &[env!("CARGO_BIN_EXE_bitcost")], &words].concat();
    Command::new(all[0]).args(&all[1..]).output().unwrap()
}

fn ping_needs_a_group_or_raw_sockets() {
    let no_raw_sockets = ["setpriv", "--bounding-set=-net_raw", "--"];
    // A new network namespace lets no group ping.
    answered();
    let refused = ping(&no_raw_sockets, "127.0.0.1");
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("cannot ping 127.0.0.1") && said.contains("net.ipv4.ping_group_range"),
        "{said}"
    );
    fs::write(GROUPS, "0\t0").unwrap();
    answered();
    assert!(ping(&no_raw_sockets, "127.0.0.1").status.success());
}

/// `bitcost ping` with these options.
fn scripted(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitcost"));
    command.arg("ping").args(words).output().unwrap()
}

fn ping_takes_the_options_of_scripts() {
    let quiet = scripted(&["-q", "-n", "-4", "-c", "2", "-i", "10ms", "127.0.0.1"]);
    let printed = String::from_utf8_lossy(&quiet.stdout);
    assert!(
        quiet.status.success() && printed.lines().count() == 2,
        "the summary alone: {quiet:?}"
    );
    assert!(
        printed.starts_with("2 sent, 2 received, 0% lost"),
        "{printed}"
    );
    for from in ["lo", "127.0.0.1"] {
        let bound = scripted(&["-I", from, "-c", "1", "-q", "127.0.0.1"]);
        assert!(bound.status.success(), "{from}: {bound:?}");
    }
    let nowhere = scripted(&["-I", "no-such0", "-c", "1", "127.0.0.1"]);
    assert_eq!(nowhere.status.code(), Some(3), "{nowhere:?}");
    let other_kind = scripted(&["-6", "-c", "1", "127.0.0.1"]);
    assert_eq!(other_kind.status.code(), Some(2), "{other_kind:?}");
    // Many more requests than there is time for.
    let ended = scripted(&["-w", "50ms", "-i", "10ms", "127.0.0.1"]);
    assert!(ended.status.success(), "{ended:?}");
}

fn answered() {
    for to in ["127.0.0.1", "::1"] {
        let done = ping(&[], to);
        let printed = String::from_utf8_lossy(&done.stdout);
        assert!(
            printed.contains("3 sent, 3 received, 0% lost"),
            "{to} {done:?}"
        );
    }
}
