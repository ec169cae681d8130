//! The loss ledger of real runs: what counters say was dropped is what did not arrive; and the wait for what is on its way
//! when the window ends.

use crate::bench::*;

bitcost_testkit::trials! {
    Host: random_loss_of_a_link_is_in_the_ledger, datagrams_over_a_small_receive_buffer_are_in_the_ledger, ledger_of_a_plain_lab_closes, a_full_send_buffer_may_drain_slowly, a_run_is_kept_when_the_drain_takes_too_long;
}

const LOSSY: &str = r#"delay_backend = "builtin"
hosts = ["h1", "h2"]
[[link]]
ends = ["h1", "h2"]
delay = "5ms"
loss = "1%"
"#;

/// The embedded lab with bitcost's own link emulator, which every kernel has.
const EMULATED: &str = "topology = \"lab15\"\ndelay_backend = \"builtin\"\n";

/// The ledger of a short run.
fn losses(bench: &Bench, words: &[&str]) -> Value {
    let done =
        bench.bitcost(&[&["test"], words, &["-t", "500ms", "-O", "50ms", "--json"]].concat());
    if done.code != Some(0) && done.stderr.contains("this kernel has no") {
        bitcost_testkit::ignore(&done.stderr);
    }
    done.assert_code(0);
    let losses = done.json()["losses"].clone();
    assert!(losses["absent"].is_null(), "{losses:#}");
    assert_eq!(losses["closes"], true, "{losses:#}");
    losses
}

/// What was dropped by places whose name has these words.
fn dropped(losses: &Value, words: &str) -> u64 {
    let rows = losses["dropped"].as_array().unwrap().iter();
    let named = rows.filter(|row| row["by"].as_str().unwrap().contains(words));
    named.map(|row| row["segments"].as_u64().unwrap()).sum()
}

/// A link that loses datagrams at random loses all that are missing.
fn random_loss_of_a_link_is_in_the_ledger() {
    let bench = Bench::new();
    bench.write("lossy.toml", LOSSY);
    let lab = ["--topology", "lossy.toml"];
    let slow = ["udp", "-l", "1000", "--rate", "8M", "-w", "1M"];
    let losses = losses(&bench, &[&slow[..], &lab[..]].concat());
    let lost = losses["lost_datagrams"].as_u64().unwrap();
    assert_eq!(dropped(&losses, "link emulator at h1-eth0"), lost);
    let tcp = self::losses(&bench, &[&["tcp"], &lab[..]].concat());
    assert!(dropped(&tcp, "link emulator at h1-eth0") > 0, "{tcp:#}");
    bench.assert_nothing_left();
}

/// A receiver that takes few datagrams, with room for a few, drops the others at its socket.
fn datagrams_over_a_small_receive_buffer_are_in_the_ledger() {
    let bench = Bench::new();
    let small = ["udp", "-l", "1000", "--receive-buffer", "4096"];
    let losses = losses(
        &bench,
        &[&small[..], &["--set", "receive_work_ns=100us"]].concat(),
    );
    let lost = losses["lost_datagrams"].as_u64().unwrap();
    assert!(lost > 0, "{losses:#}");
    assert!(
        dropped(&losses, "the receiver's socket buffer") > lost / 2,
        "{losses:#}"
    );
    let sentence = losses["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with(&format!("{lost} datagrams were lost: ")),
        "{sentence}"
    );
    bench.assert_nothing_left();
}

fn ledger_of_a_plain_lab_closes() {
    let bench = Bench::new();
    for workload in ["tcp", "rr"] {
        let losses = losses(&bench, &[workload]);
        assert!(losses["sent"].as_u64() > Some(0), "{losses:#}");
    }
    bench.assert_nothing_left();
}

/// The document of a test of one second on a path of 20 ms whose receiver's window is kept small,
/// with a large send buffer.
fn said(receive_buffer: u32) -> Value {
    let bench = Bench::new();
    let buffers = format!("receiver: net.ipv4.tcp_rmem=4096 {receive_buffer} {receive_buffer}");
    bench.write("emulated.toml", EMULATED);
    let path = ["--topology", "emulated.toml"];
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
