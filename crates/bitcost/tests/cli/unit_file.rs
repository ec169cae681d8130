//! The example of a systemd unit: systemd reads it without a warning of it, alone and with the lines for
//! tests that may change settings, and rates both as it did.

// The test harness shows what a test prints.
#![allow(clippy::disallowed_macros)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The lines that the unit's own comment and docs/hosts.md have for such tests.
const FOR_SETTINGS: &str = "[Service]
ExecStart=
ExecStart=/usr/bin/bitcost serve --allow-settings offloads,mtu_bytes
DynamicUser=no
ProtectKernelTunables=no
CapabilityBoundingSet=CAP_NET_ADMIN CAP_SETGID CAP_SETUID
SystemCallFilter=setgroups setresgid setresuid
StateDirectory=bitcost
";

/// The most exposure that `systemd-analyze security` may find, in tenths: alone, and with these
/// lines. It finds 17 and 25.
const EXPOSURE: [&str; 2] = ["20", "30"];

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// A folder with the unit, which starts the program of this build; with the lines for tests that may
/// change settings, or without them.
fn unit(with_settings: bool) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("bitcost.service");
    let text = read("debian/bitcost.service");
    let start = "ExecStart=/usr/bin/bitcost ";
    assert!(text.contains(start));
    let here = format!("ExecStart={} ", env!("CARGO_BIN_EXE_bitcost"));
    fs::write(&unit, text.replace(start, &here)).unwrap();
    if with_settings {
        let more = folder.path().join("bitcost.service.d");
        fs::create_dir(&more).unwrap();
        fs::write(
            more.join("override.conf"),
            FOR_SETTINGS.replace(start, &here),
        )
        .unwrap();
    }
    (folder, unit)
}

/// What `systemd-analyze` says on standard error about our unit.
fn analyze(words: &[&str], unit: &Path) -> Vec<String> {
    let output = Command::new("systemd-analyze")
        .args(words)
        .arg(unit)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "systemd-analyze {words:?}: {}: {said}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    );
    let is_ours = |line: &&str| line.contains("bitcost.service");
    said.lines().filter(is_ours).map(str::to_owned).collect()
}

#[test]
fn systemd_takes_the_unit() {
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("skipped: systemd-analyze is not installed");
        return;
    }
    for (with_settings, exposure) in [false, true].into_iter().zip(EXPOSURE) {
        let (_folder, unit) = unit(with_settings);
        let threshold = format!("--threshold={exposure}");
        for words in [
            &["verify", "--man=no"][..],
            &["security", "--offline=true", &threshold],
        ] {
            assert_eq!(analyze(words, &unit), [""; 0]);
        }
    }
}

#[test]
fn the_lines_for_settings_are_in_the_unit_and_the_book() {
    let comment = FOR_SETTINGS.lines().map(|line| format!("#   {line}\n"));
    assert!(read("debian/bitcost.service").contains(&comment.collect::<String>()));
    assert!(read("../../docs/hosts.md").contains(FOR_SETTINGS));
}
