//! The recordings of `bench/recordings` are judged rightly.

use std::process::Command;

#[test]
fn the_kept_recordings_are_judged_rightly() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let status = command
        .args(["confusion", "--check", "--recordings"])
        .status();
    assert!(status.expect("runs").success());
}
