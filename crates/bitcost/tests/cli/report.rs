//! `bitcost report --open`: the file is handed to the desktop's program, and it is said where there
//! is none.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A recorded execution.
const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sizes");

/// A report that is opened, with programs from this folder alone.
fn report(programs: &Path, out: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitcost"));
    command.args(["report", LOG, "--open", &format!("--out={out}")]);
    let command = command.env("PATH", programs).current_dir(programs);
    command.stdin(Stdio::null()).output().unwrap()
}

/// A program `xdg-open` that says what it is given and ends with this code.
fn opener(folder: &Path, code: u8) {
    let program = folder.join("xdg-open");
    let text = format!("#!/bin/sh\necho \"$*\" > opened\nexit {code}\n");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_report_is_opened_with_the_program_of_the_desktop() {
    let folder = tempfile::tempdir().unwrap();
    opener(folder.path(), 0);
    let output = report(folder.path(), "-x.html");
    assert!(output.status.success(), "{output:?}");
    let opened = fs::read_to_string(folder.path().join("opened")).unwrap();
    let opened = Path::new(opened.trim_end());
    assert!(opened.is_absolute(), "no option: {opened:?}");
    let html = fs::read_to_string(opened).unwrap();
    assert!(html.ends_with("</html>\n"));
}

#[test]
fn where_nothing_opens_it_the_report_is_written_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (code, says) in [
        (None, "there is no xdg-open on this host"),
        (Some(3), "xdg-open opened nothing (exit status: 3)"),
    ] {
        if let Some(code) = code {
            opener(folder.path(), code);
        }
        let output = report(folder.path(), "r.html");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(says), "{said}");
        assert!(said.contains("open r.html in a browser"), "{said}");
        assert!(folder.path().join("r.html").is_file());
    }
}
