//! How this program is copied to a host that lacks it: a script for the POSIX shell there, and the
//! dialogue with it.
//!
//! The script names the machine and the bitcost on its path, if any. It then runs that bitcost, or
//! receives a copy. The copy's file is removed before its first byte is written and started by its
//! open descriptor, so that no file is left behind whichever process dies. Nothing is sent before
//! the other side has sent its line, since a shell's tools may read more than they use.

use std::fs::File;
use std::io::{BufRead, Read, Write};

use bitcost_controller::AgentEnd;
use bitcost_model::protocol::reach::{self, Found};

use crate::identity;

/// The script's exit status if the host has no folder for temporary files.
pub const NO_FOLDER: i32 = 120;
pub const COPY_FAILS: i32 = 121;
/// The script's exit status if sudo was requested and is not installed.
pub const NO_SUDO: i32 = 122;

const PART: usize = 64 << 10;

/// The command for any kind of shell on a host: the script has no quotes, backslashes or
/// exclamation marks.
pub fn script(sudo: bool) -> String {
    let (has_sudo, as_root) = if sudo {
        ("command -v sudo >/dev/null || exit 122; ", "sudo -n ")
    } else {
        ("", "")
    };
    // sudo closes all descriptors but the first three: the shell stays and keeps the copy's
    // descriptor open.
    let start = if sudo { "" } else { "exec " };
    let script = format!(
        r#"{has_sudo}b=$(command -v bitcost || echo false); i=$($b agent --identify 2>/dev/null </dev/null | head -n 1);
        echo "bitcost-reach $(uname -s) $(uname -m) $i";
        read -r word size || exit 0;
        case $word in
        run) exec {as_root}$b agent;;
        copy) umask 077; d=$(mktemp -d "${{TMPDIR:-/tmp}}/bitcost.XXXXXXXX") || exit 120;
        : >"$d/bitcost" && chmod 700 "$d/bitcost" && exec 8>"$d/bitcost" 9<"$d/bitcost"; ready=$?;
        rm -rf "$d"; [ $ready = 0 ] || exit 120;
        copy=/proc/$$/fd/9;
        echo "bitcost-reach ready"; head -c "$size" >&8 || exit 120; exec 8>&-;
        i=$($copy agent --identify </dev/null) || exit 121;
        echo "bitcost-reach copied $i";
        read -r word || exit 0;
        {start}{as_root}$copy agent;;
        esac"#
    );
    format!(
        "exec sh -c '{}'",
        script.lines().map(str::trim).collect::<Vec<_>>().join(" ")
    )
}

/// The dialogue with a host, from the script's first line until it starts the agent.
pub fn run(
    host: &str,
    input: &mut dyn Write,
    output: &mut dyn BufRead,
    sign: &mut dyn FnMut(),
) -> Result<(), AgentEnd> {
    let own = identity::line()?;
    let found = line(output)?;
    sign();
    let Found {
        system,
        machine,
        program: there,
    } = Found::of(&found);
    if there == Some(own) {
        return say(input, "run\n");
    }
    if system != "Linux" {
        let why = format!("{host} runs {system}; bitcost needs Linux");
        return Err(AgentEnd::Failed(why));
    }
    if !identity::runs_on(machine) {
        return Err(AgentEnd::Failed(format!(
            "{host} has a CPU of another kind ({machine}) than this program was built for ({}); build bitcost for it, copy it there, and give its path with --remote-program PATH",
            std::env::consts::ARCH
        )));
    }
    copy((host, identity::program()?), input, output, sign)?;
    let copied = line(output)?;
    sign();
    match copied.strip_prefix("copied ") {
        Some(copied) if copied == own => say(input, "run\n"),
        _ => Err(AgentEnd::Failed(format!(
            "the copy of this program at {host} differs: sent {own}, received {copied}"
        ))),
    }
}

fn copy(
    (host, mut program): (&str, File),
    input: &mut dyn Write,
    output: &mut dyn BufRead,
    sign: &mut dyn FnMut(),
) -> Result<(), AgentEnd> {
    let failed = |error: std::io::Error| {
        AgentEnd::Failed(format!(
            "cannot read this program to copy it to {host}: {error}"
        ))
    };
    let size = program.metadata().map_err(failed)?.len();
    say(input, &format!("copy {size}\n"))?;
    let ready = line(output)?;
    if ready != "ready" {
        return Err(AgentEnd::Failed(format!(
            "{host} did not accept a copy of this program and printed {ready:?}"
        )));
    }
    let mut part = vec![0; PART];
    loop {
        match program.read(&mut part).map_err(failed)? {
            0 => return input.flush().map_err(|_| AgentEnd::OutputEnded),
            length => input
                .write_all(&part[..length])
                .map_err(|_| AgentEnd::OutputEnded)?,
        }
        sign();
    }
}

fn say(input: &mut dyn Write, text: &str) -> Result<(), AgentEnd> {
    input
        .write_all(text.as_bytes())
        .and_then(|()| input.flush())
        .map_err(|_| AgentEnd::OutputEnded)
}

fn line(output: &mut dyn BufRead) -> Result<String, AgentEnd> {
    let line = reach::line(output).map_err(|error| AgentEnd::Failed(error.to_string()))?;
    line.ok_or(AgentEnd::OutputEnded)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;
    use std::process::{Command, Stdio};

    use super::*;

    fn held(says: &str) -> (Result<(), AgentEnd>, String) {
        let mut told = Vec::new();
        let outcome = run("web", &mut told, &mut says.as_bytes(), &mut || {});
        (outcome, String::from_utf8_lossy(&told).into_owned())
    }

    #[test]
    fn the_script_has_nothing_that_ends_its_quotes() {
        for sudo in [false, true] {
            let script = script(sudo);
            let inner = script
                .strip_prefix("exec sh -c '")
                .and_then(|text| text.strip_suffix('\''))
                .unwrap();
            assert!(!inner.contains(['\'', '\\', '!', '\n']), "{inner}");
            assert_eq!(inner.contains("sudo"), sudo);
        }
    }

    #[test]
    fn the_same_program_is_run_and_noise_is_passed_by() {
        let own = identity::line().unwrap();
        let machine = bitcost_probe::host::describe().architecture;
        let (outcome, told) = held(&format!(
            "Welcome!\nyou have mail\nbitcost-reach Linux {machine} {own}\n"
        ));
        assert_eq!((outcome, told.as_str()), (Ok(()), "run\n"));
    }

    #[test]
    fn what_cannot_be_is_said_before_anything_is_copied() {
        for (says, what) in [
            ("bitcost-reach Linux vax \n", "a CPU of another kind (vax)"),
            (
                "bitcost-reach Darwin arm64 \n",
                "runs Darwin; bitcost needs Linux",
            ),
            ("who are you?\n", "its output ended"),
        ] {
            let (outcome, told) = held(says);
            assert!(
                outcome
                    .as_ref()
                    .is_err_and(|end| end.to_string().contains(what)),
                "{outcome:?}"
            );
            assert_eq!(told, "");
        }
    }

    /// The file is removed before its bytes arrive, so nothing is left if they end early.
    #[test]
    fn a_copy_that_is_cut_short_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command
            .args(["-c", &script(false)])
            .env("TMPDIR", folder.path())
            .stderr(Stdio::null());
        let mut shell = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        let mut output = BufReader::new(output);
        assert!(line(&mut output).unwrap().starts_with("Linux "));
        say(&mut input, "copy 1000000\n").unwrap();
        assert_eq!(line(&mut output), Ok("ready".to_owned()));
        say(&mut input, "half of it").unwrap();
        let left = || std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left(), 0);
        drop(input);
        assert_eq!(line(&mut output), Err(AgentEnd::OutputEnded));
        assert_eq!(
            (shell.wait().unwrap().code(), left()),
            (Some(COPY_FAILS), 0)
        );
    }

    #[test]
    fn a_copy_must_be_the_same() {
        let machine = bitcost_probe::host::describe().architecture;
        let (outcome, told) = held(&format!(
            "bitcost-reach Linux {machine} \nbitcost-reach ready\nbitcost-reach copied bitcost 0.0.0 x 1-0\n"
        ));
        assert!(outcome.is_err_and(|end| end.to_string().contains("differs: sent")));
        let size = identity::program().unwrap().metadata().unwrap().len();
        assert!(told.starts_with(&format!("copy {size}\n")));
    }
}
