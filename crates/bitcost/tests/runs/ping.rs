//! `bitcost ping` where the kernel lets groups ping, and where it lets none: a process that may open raw sockets pings all the same.

use std::fs;
use std::process::{Command, Output};

bitcost_testkit::trials! {
    PrivateNetwork: ping_needs_a_group_or_raw_sockets;
}

const GROUPS: &str = "/proc/sys/net/ipv4/ping_group_range";
/// The kernel's default: no group.
const NONE: &str = "1\t0";

fn ping(before: &[&str], to: &str) -> Output {
    let words = ["ping", "-c", "3", "-i", "10ms", to];
    let all = [before, &[env!("CARGO_BIN_EXE_bitcost")], &words].concat();
    Command::new(all[0]).args(&all[1..]).output().unwrap()
}

fn ping_needs_a_group_or_raw_sockets() {
    assert_eq!(fs::read_to_string(GROUPS).unwrap().trim(), NONE);
    for groups in [NONE, "0\t0"] {
        fs::write(GROUPS, groups).unwrap();
        for to in ["127.0.0.1", "::1"] {
            let done = ping(&[], to);
            let printed = String::from_utf8_lossy(&done.stdout);
            assert!(
                printed.contains("3 sent, 3 received, 0% lost"),
                "{groups} {done:?}"
            );
        }
    }
    let no_raw_sockets = ["setpriv", "--bounding-set=-net_raw", "--"];
    assert!(ping(&no_raw_sockets, "127.0.0.1").status.success());
    fs::write(GROUPS, NONE).unwrap();
    let refused = ping(&no_raw_sockets, "127.0.0.1");
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("cannot ping 127.0.0.1") && said.contains("net.ipv4.ping_group_range"),
        "{said}"
    );
}
