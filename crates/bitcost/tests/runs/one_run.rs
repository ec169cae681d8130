//! `bitcost test`: what it says of settings that are not in force, and to a reader who leaves early.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::bench::{Bench, PATIENCE, program};
use testkit::process::eventually;

/// A short run of one workload with these settings.
fn test(bench: &Bench, words: &[&str]) -> crate::bench::Done {
    bench.bitcost(&[&["test"], words, &["-t", "200ms", "-O", "50ms"]].concat())
}

/// More receive buffer than the host gives is said, and fails the run; what it gives does not.
pub fn not_in_force() {
    let bench = Bench::new();
    let most: u64 = fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap().trim().parse().unwrap();
    test(&bench, &["udp", "--receive-buffer", "8192"]).assert_code(0);
    let asked: u64 = 0x3fff_ffff;
    if most >= asked {
        testkit::ignore("net.core.rmem_max of this host is over every buffer that can be asked for");
    }
    let done = test(&bench, &["udp", "--receive-buffer", &asked.to_string()]);
    done.assert_code(1);
    let missed = format!("receiver receive_buffer_bytes: asked {asked}, is {most}");
    assert!(done.stdout.contains(&format!("not in force: {missed}")), "{}", done.stdout);
    assert!(done.stderr.contains("bitcost: not in force: sender receive_buffer_bytes"), "{}", done.stderr);
    assert!(done.stderr.contains(&missed), "{}", done.stderr);
    bench.assert_nothing_left();
}

/// The reader of the first line goes: the run ends without a word, and nothing stays behind.
pub fn closed_output() {
    let bench = Bench::new();
    let mut command = bench.command(&program(), &["test", "tcp", "-t", "20s", "-O", "50ms"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("sender"), "{first}");
    let status = eventually(PATIENCE, "it ends", || child.try_wait().unwrap());
    let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!((status.code(), said.as_str()), (Some(141), ""));
    bench.assert_nothing_left();
}
