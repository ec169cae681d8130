//! Answers of the kernel: netlink messages, and texts of /proc and /sys.

use std::hint::black_box;

use bitcost_model::record::ThreadKind;
use bitcost_probe::{cpu, interfaces, protocols, softnet, threads, throttling};

use super::text;

/// Messages from a netlink socket, read as each requested kind.
pub fn netlink(bytes: &[u8]) {
    // A message has a header of 16 bytes (netlink(7)).
    assert!(bitcost_sys::netlink::answer::read(bytes).len() <= bytes.len() / 16);
}

/// A text of /proc or /sys, read as each file that a probe reads.
pub fn proc(bytes: &[u8]) {
    let text = text(bytes);
    for cpu in cpu::parse(text) {
        black_box((cpu.busy(), cpu.all()));
    }
    black_box((
        bitcost_model::cpu_list::parse_cpu_list(text),
        interfaces::parse(text),
    ));
    black_box((protocols::parse(text), protocols::parse_listed(text)));
    black_box((
        threads::parse_time(ThreadKind::Traffic, text),
        softnet::parse(text),
    ));
    black_box((threads::parse_switches(text), throttling::parse(text)));
}
