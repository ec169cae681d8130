//! Whole pages of output: the help of `test`, and an execution as a table, in Markdown and
//! explained. After an intended change `INSTA_UPDATE=always cargo test -p bitcost --test cli
//! screens` writes the new text; read its diff.

use std::path::Path;

use insta::assert_snapshot;

use crate::words::bitcost;

/// The output of a command that succeeds; a path of this machine is replaced.
fn printed(words: &[&str]) -> String {
    let (code, stdout, stderr) = bitcost(Path::new("/"), words);
    assert_eq!(code, Some(0), "{stderr}");
    format!("{stdout}{stderr}").replace(env!("CARGO_MANIFEST_DIR"), "CRATE")
}

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/older/events.jsonl");

#[test]
fn help_of_test() {
    assert_snapshot!(printed(&["test", "--help"]));
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
