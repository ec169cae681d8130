//! What is still on its way when the window ends: the run waits as long as it moves, and is kept.

use serde_json::Value;

use crate::bench::Bench;

bitcost_testkit::trials! {
    Host: a_full_send_buffer_may_drain_slowly, a_run_is_kept_when_the_drain_takes_too_long;
}

/// The document of a test of one second on a path of 20 ms whose receiver's window is kept small,
/// with a large send buffer.
fn said(receive_buffer: u32) -> Value {
    let bench = Bench::new();
    let buffers = format!("receiver: net.ipv4.tcp_rmem=4096 {receive_buffer} {receive_buffer}");
    let path = ["--topology", "lab15", "--delay-backend", "builtin"];
    let sender = ["-C", "cubic", "--send-buffer", "4M"];
    let words = ["test", "tcp", "-t", "1s", "--sysctl", &buffers, "--json"];
    let done = bench.bitcost(&[&words, &path[..], &sender].concat());
    if done.stderr.contains("net.core.wmem_max") {
        bitcost_testkit::ignore(&done.stderr);
    }
    done.assert_code(0);
    serde_json::from_str(&done.stdout).unwrap()
}

fn undelivered(document: &Value) -> usize {
    let caveats = document["caveats"].as_array().unwrap().iter();
    let words = |caveat: &&Value| caveat.as_str().unwrap().contains("had not arrived");
    caveats.filter(words).count()
}

/// 4 MiB at 6 Mbit/s take longer than a dead path may.
fn a_full_send_buffer_may_drain_slowly() {
    let document = said(32_768);
    assert_eq!(undelivered(&document), 0, "{document:#}");
}

fn a_run_is_kept_when_the_drain_takes_too_long() {
    let document = said(6_144);
    assert_eq!(undelivered(&document), 1, "{document:#}");
}
