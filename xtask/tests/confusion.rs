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

#[test]
fn the_kept_recordings_are_judged_rightly() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["confusion", "--check", "--recordings"])
        .output()
        .expect("runs");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
