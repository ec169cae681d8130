//! The recordings of `bench/recordings` are judged rightly.

use std::process::Command;

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
