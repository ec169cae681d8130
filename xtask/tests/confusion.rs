//! Makes every scenario of `cargo xtask confusion` once; takes minutes and a quiet machine.

use std::process::Command;

#[test]
#[ignore = "takes 3 minutes, two CPUs that nothing else uses, and root for quotas; docs/method/bottleneck.md quotes what it prints"]
fn every_limiter_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["confusion", "--repeats", "1"])
        .output();
    let output = output.expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "the scenarios ran");
    assert!(
        text.contains("wrong with high confidence 0"),
        "nothing is wrong and sure"
    );
}

/// The recordings of two machines (AMD EPYC, Intel Xeon of model 143), one repeat of all scenarios
/// each, without the fields that no rule reads.
const RECORDED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/confusion.jsonl.gz"
);

#[test]
fn the_recorded_runs_of_two_machines_are_judged_rightly() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["confusion", "--check", "--from", RECORDED])
        .output()
        .expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let sums: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("wrong with high confidence"))
        .collect();
    assert_eq!(sums.len(), 2, "{text}");
    for sum in sums {
        assert!(sum.contains("wrong with high confidence 0;"), "{text}");
    }
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
