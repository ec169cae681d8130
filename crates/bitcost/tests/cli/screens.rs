//! Whole pages of output: the help of `test`, an execution as a table, in Markdown and explained, files of iperf3
//! explained, and limits. After an intended change `INSTA_UPDATE=always cargo test -p bitcost --test cli
//! screens` writes the new text; read its diff.

use std::path::Path;

use insta::assert_snapshot;

use crate::words::bitcost;

/// The output of a command that succeeds in the folder of this crate, so that no path depends on the machine.
fn printed(words: &[&str]) -> String {
    let (code, stdout, stderr) = bitcost(Path::new(env!("CARGO_MANIFEST_DIR")), words);
    assert_eq!(code, Some(0), "{stderr}");
    stdout + &stderr
}

const LOG: &str = "tests/sizes/events.jsonl";

#[test]
fn help() {
    assert_snapshot!(printed(&["--help"]));
}

#[test]
fn help_of_test() {
    assert_snapshot!(printed(&["test", "-h"]));
}

#[test]
fn execution_as_a_table() {
    assert_snapshot!(printed(&["show", LOG]));
}

#[test]
fn execution_as_markdown() {
    assert_snapshot!(printed(&["show", LOG, "--format", "md"]));
}

#[test]
fn execution_explained() {
    assert_snapshot!(printed(&["explain", LOG]));
}

fn all_printed(lines: &[&str]) -> String {
    let words = |line: &str| printed(&line.split(' ').collect::<Vec<_>>());
    let one = |line: &&str| format!("$ bitcost {}\n{}", line, words(line));
    lines.iter().map(one).collect()
}

#[test]
fn limits_show_their_arithmetic() {
    assert_snapshot!(all_printed(&[
        "limits goodput --rate 2.5G --mtu 1500",
        "limits goodput --rate 2.5G --mtu 9000",
        "limits goodput --rate 1G -l 20k --udp",
        "limits bdp --rate 1G --rtt 20ms",
    ]));
}

#[test]
fn files_of_iperf3_explained() {
    let explained = |file: &str| {
        let place = tempfile::tempdir().unwrap();
        let file = format!("tests/fixtures/{file}.json");
        let said = printed(&["import", &file, "--out", place.path().to_str().unwrap()]);
        let text = printed(&["explain", said.lines().next().unwrap()]);
        text.split_once("\n\n").expect("a title").1.to_owned()
    };
    let (full, lossy) = (explained("sender-full"), explained("udp-loss"));
    assert_snapshot!(format!("{full}\n{lossy}"));
}
