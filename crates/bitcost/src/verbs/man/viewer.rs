//! A manual page on a terminal: man(1) shows it, or, where that cannot, the help of the command.

use std::io::Write;
use std::process::{Child, Command as Program, Stdio};

use clap::Command;
use clap_mangen::Man;

use crate::failure::Failure;
use crate::output;

/// Shows the page of a command.
///
/// # Errors
/// As [`output::print`].
pub fn view(mut page: Command) -> Result<(), Failure> {
    let mut source = Vec::new();
    let rendered = Man::new(page.clone()).render(&mut source);
    if rendered.is_ok() && man(&source) {
        return Ok(());
    }
    output::say("note: man(1) cannot show the page on this machine; this is the command's help");
    output::print(&page.render_long_help().to_string())
}

/// Whether man(1) showed this source.
fn man(source: &[u8]) -> bool {
    let started = Program::new("man")
        .args(["-l", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let shown = |mut child: Child| {
        let mut input = child.stdin.take()?;
        // A pager that is left early closes the pipe.
        let _ = input.write_all(source);
        drop(input);
        child.wait().ok()
    };
    let status = started.ok().and_then(shown);
    status.is_some_and(|status| status.success())
}
