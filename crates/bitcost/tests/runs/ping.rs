//! The check of a lab's delay pings where the kernel lets groups ping; and where it lets none, a
//! process that may open raw sockets.

use std::fs;
use std::process::{Command, Output};

bitcost_testkit::trials! {
    PrivateNetwork: ping_needs_a_group_or_raw_sockets;
}

const GROUPS: &str = "/proc/sys/net/ipv4/ping_group_range";

fn ping(before: &[&str]) -> Output {
    let words = ["echo-requests", "127.0.0.1", "3", "10", "1000"];
    let all = [before, &[env!("CARGO_BIN_EXE_bitcost")], &words].concat();
    Command::new(all[0]).args(&all[1..]).output().unwrap()
}

fn ping_needs_a_group_or_raw_sockets() {
    let no_raw_sockets = ["setpriv", "--bounding-set=-net_raw", "--"];
    // A new network namespace lets no group ping.
    assert!(ping(&[]).status.success());
    assert_eq!(ping(&no_raw_sockets).status.code(), Some(3));
    fs::write(GROUPS, "0\t0").unwrap();
    assert!(ping(&[]).status.success());
    assert!(ping(&no_raw_sockets).status.success());
}
