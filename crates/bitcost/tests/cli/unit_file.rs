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

/// A unit of another package that systemd warns of, and that our unit's targets want.
const CARELESS: &str = "[Unit]
Documentation=nonsense

[Service]
ExecStart=/bin/true
Frobnicate=yes
";

/// A folder of units in which another package's is careless.
fn careless() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("careless.service"), CARELESS).unwrap();
    let wants = folder.path().join("basic.target.wants");
    fs::create_dir(&wants).unwrap();
    std::os::unix::fs::symlink("../careless.service", wants.join("careless.service")).unwrap();
    folder
}

/// What `systemd-analyze` says on standard error with these units in front of the machine's; all of
/// it, and what of it is about our unit.
fn analyze(words: &[&str], unit: &Path, others: &Path) -> (String, Vec<String>) {
    let output = Command::new("systemd-analyze")
        .args(words)
        .arg(unit)
        // The colon at the end stands for the machine's own folders (systemd.unit(5)).
        .env("SYSTEMD_UNIT_PATH", format!("{}:", others.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "systemd-analyze {words:?}: {}: {said}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout)
    );
    let is_ours = |line: &&str| line.contains("bitcost.service");
    let ours = said.lines().filter(is_ours).map(str::to_owned).collect();
    (said, ours)
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
        let ((_folder, unit), others) = (unit(with_settings), careless());
        let (said, ours) = analyze(&["verify", "--man=no"], &unit, others.path());
        assert!(
            said.contains("Frobnicate"),
            "the careless unit is read: {said}"
        );
        assert_eq!(ours, [""; 0], "{said}");
        let threshold = format!("--threshold={exposure}");
        let words = ["security", "--offline=true", &threshold];
        let (said, ours) = analyze(&words, &unit, others.path());
        assert_eq!(ours, [""; 0], "{said}");
    }
}

#[test]
fn the_lines_for_settings_are_in_the_unit_and_the_book() {
    let comment = FOR_SETTINGS.lines().map(|line| format!("#   {line}\n"));
    assert!(read("debian/bitcost.service").contains(&comment.collect::<String>()));
    assert!(read("../../docs/hosts.md").contains(FOR_SETTINGS));
}
