//! Output to a terminal: nothing from the files of other users controls it.

use std::io::Read;
use std::process::{Command, Stdio};

use bitcost_testkit::process::terminal;

/// A title that would name the terminal's window, clear it, conceal and colour what follows, and
/// write it from right to left.
const STEERS: &str =
    r"\u001b]0;mine\u0007\u001b[2J\u001b[8m\u001b[5m\u001b[1;31m\u202e\u2066\u200b";
/// Parts of that title that must not reach a terminal, a page or a table.
const FOREIGN: [&str; 9] = [
    "\u{1b}]",
    "\u{1b}[2J",
    "\u{7}",
    "\u{1b}[8m",
    "\u{1b}[5m",
    "\u{1b}[1;31m",
    "\u{202e}",
    "\u{2066}",
    "\u{200b}",
];

/// The bytes that bitcost sends to a terminal, on standard output and standard error together.
fn on_a_terminal(words: &[&str]) -> String {
    let [outer, inner] = terminal();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitcost"));
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(inner.try_clone().expect("a copy"))
        .stderr(inner);
    let mut child = command.spawn().expect("started");
    // Only the program may hold the other side of the terminal, so that the end of the program ends
    // the reading.
    drop(command);
    let mut sent = Vec::new();
    // A terminal that no process has open any more answers with an error (EIO).
    let _ = (&outer).read_to_end(&mut sent);
    child.wait().expect("ended");
    String::from_utf8(sent).expect("letters")
}

/// The name of an execution imported from a file of iperf3 with such a title. The folder exists as
/// long as the value.
fn imported() -> (tempfile::TempDir, String) {
    let place = tempfile::tempdir().expect("a folder");
    let iperf3 = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../import/tests/fixtures/iperf3/iperf3-tcp.json"
    );
    let document = std::fs::read_to_string(iperf3).expect("a fixture");
    let with = |title: &str| document.replacen('{', &format!("{{ \"title\": \"{title}\","), 1);
    let files = [("one.json", with(STEERS)), ("two.json", with("harmless"))].map(|(name, text)| {
        let path = place.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitcost"));
    command
        .arg("import")
        .args(&files)
        .arg("--out")
        .arg(place.path());
    let output = command.output().expect("started");
    let folder = String::from_utf8(output.stdout)
        .expect("letters")
        .trim()
        .to_owned();
    (place, folder)
}

#[test]
fn nothing_of_others_files_steers_a_terminal_in_any_form() {
    let (_place, folder) = imported();
    let file = |form: &'static str| vec!["show", &folder, "--format", form];
    let forms = ["text", "md", "csv", "json"].map(file);
    let report = vec!["report", &folder, "--out", "-"];
    let others = [
        vec!["explain", &folder],
        vec!["compare", &folder, "\u{1b}[2J\u{7}\u{1b}[8m\u{202e}"],
        report,
    ];
    for words in forms.into_iter().chain(others) {
        let sent = on_a_terminal(&words);
        assert!(sent.len() > 20, "{words:?}: {sent}");
        for steers in FOREIGN {
            assert!(!sent.contains(steers), "{words:?}: {sent:?}");
        }
    }
    let shown = on_a_terminal(&["show", &folder]);
    assert!(shown.contains('\u{fffd}'), "the title itself is there");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn what_is_made_for_other_programs_has_no_foreign_letters_either() {
    let (_place, folder) = imported();
    let forms = ["md", "csv"].map(|form| vec!["show", &folder, "--format", form]);
    for words in forms
        .into_iter()
        .chain([vec!["report", &folder, "--out", "-"]])
    {
        let output = Command::new(env!("CARGO_BIN_EXE_bitcost"))
            .args(&words)
            .output()
            .expect("started");
        let text = String::from_utf8(output.stdout).expect("letters");
        assert!(text.contains("mine"), "{words:?}");
        for foreign in FOREIGN {
            assert!(!text.contains(foreign), "{words:?}: {foreign:?}");
        }
    }
}
