//! Output that nobody takes: full disks, closed descriptors, and readers who leave after a line.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, PipeReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use model::event::Event;
use rustix::process::Signal;
use testkit::process::eventually;

use crate::bench::{Bench, PATIENCE, SMALL, program, signal};

/// Which output is not taken, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// `>/dev/full`
    FullOutput,
    /// `2>/dev/full`
    FullErrors,
    /// `>&-`
    ClosedOutput,
    /// `2>&-`
    ClosedErrors,
    /// `| head -1`
    Head,
    /// `2>&1 | head -1`
    HeadOfBoth,
}

const WAYS: [Way; 6] =
    [Way::FullOutput, Way::FullErrors, Way::ClosedOutput, Way::ClosedErrors, Way::Head, Way::HeadOfBoth];

/// What a command may end with: nothing else is documented.
const DOCUMENTED: [i32; 6] = [0, 1, 2, 3, 130, 141];

/// Every verb in the ways that it prints in. `EXECUTION` stands for an execution's folder.
const COMMANDS: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["no-such-verb"],
    &["agent"],
    &["agent", "--identify"],
    &["compare", "EXECUTION", "EXECUTION"],
    &["completions", "bash"],
    &["explain", "EXECUTION"],
    &["host", "show"],
    &["host", "restore"],
    &["import", "iperf3.json"],
    &["lab", "presets"],
    &["lab", "ls"],
    &["lab", "down", "no-such-lab"],
    &["lab", "exec", "--lab", "no-such-lab", "h1", "--", "true"],
    &["lab", "up", "no-such-lab"],
    &["limits", "goodput", "--rate", "1G"],
    &["man"],
    &["ping", "127.0.0.1", "-c", "2", "-i", "10ms"],
    &["plan", "not-all-mbits"],
    &["report", "EXECUTION"],
    &["report", "EXECUTION", "--out", "-"],
    &["run", "no-such-study"],
    &["show", "EXECUTION"],
    &["show", "EXECUTION", "--format", "csv"],
    &["studies"],
    &["test", "tcp", "-t", "100ms", "-O", "50ms"],
    &["test", "udp", "-t", "100ms", "-O", "50ms", "--json"],
];

/// A command whose output is not taken in one way.
struct Untaken {
    child: Child,
    /// What `head -1` reads.
    read: Option<PipeReader>,
    /// Where the errors go that are not in question.
    errors: PathBuf,
}

impl Untaken {
    fn start(bench: &Bench, words: &[&str], way: Way) -> Untaken {
        let closed = |redirection: &str| {
            let mut command = bench.command("sh".as_ref(), &["-c", &format!("exec \"$@\" {redirection}"), "sh"]);
            command.arg(program()).args(words);
            command
        };
        let mut command = match way {
            Way::ClosedOutput => closed(">&-"),
            Way::ClosedErrors => closed("2>&-"),
            _ => bench.command(&program(), words),
        };
        let errors = bench.path().join("errors");
        command.stdout(Stdio::null()).stderr(File::create(&errors).unwrap());
        let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut read = None;
        match way {
            Way::FullOutput => drop(command.stdout(full())),
            Way::FullErrors => drop(command.stderr(full())),
            Way::ClosedOutput | Way::ClosedErrors => {}
            Way::Head | Way::HeadOfBoth => read = Some(pipe(&mut command, way == Way::HeadOfBoth)),
        }
        Untaken { child: command.spawn().unwrap(), read, errors }
    }

    /// Reads one line where there is a reader, who then leaves; waits for the end; returns the exit code.
    fn finish(&mut self) -> Option<i32> {
        if let Some(reader) = self.read.take() {
            BufReader::with_capacity(1, reader).read_line(&mut String::new()).unwrap();
        }
        eventually(PATIENCE, "it ends", || self.child.try_wait().unwrap()).code()
    }

    /// What standard error has, where it is taken.
    fn errors(&self) -> String {
        let mut text = String::new();
        File::open(&self.errors).unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

/// The reader of a pipe to which standard output goes, and standard error where both do.
fn pipe(command: &mut Command, is_both: bool) -> PipeReader {
    let (reader, writer) = std::io::pipe().unwrap();
    if is_both {
        command.stderr(writer.try_clone().unwrap());
    }
    command.stdout(writer);
    reader
}

/// A bench with a file of iperf3 and an execution that was imported from it.
fn bench() -> (Bench, String) {
    let bench = Bench::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/fixtures/iperf3/iperf3-tcp.json");
    std::fs::copy(file, bench.path().join("iperf3.json")).unwrap();
    let imported = bench.bitcost(&["import", "iperf3.json"]);
    imported.assert_code(0);
    (bench, imported.stdout.trim().to_owned())
}

pub fn every_verb() {
    let (bench, execution) = bench();
    let help = bench.bitcost(&["--help"]).stdout;
    let verbs: BTreeSet<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.split(' ').next())
        .filter(|verb| *verb != "help")
        .collect();
    let tried: BTreeSet<&str> = COMMANDS.iter().map(|words| words[0]).collect();
    assert!(verbs.len() > 10 && verbs.is_subset(&tried), "without a row: {:?}", verbs.difference(&tried));
    for words in COMMANDS {
        let words: Vec<&str> =
            words.iter().map(|word| if *word == "EXECUTION" { execution.as_str() } else { word }).collect();
        for way in WAYS {
            let mut untaken = Untaken::start(&bench, &words, way);
            let code = untaken.finish();
            let errors = untaken.errors();
            assert!(code.is_some_and(|code| DOCUMENTED.contains(&code)), "{words:?} {way:?}: {code:?}\n{errors}");
            assert!(!errors.contains("panicked"), "{words:?} {way:?}: {errors}");
        }
    }
    bench.assert_nothing_left();
}

/// Both runs are made and logged whatever becomes of what is printed; the exit code tells of standard output alone.
pub fn execution() {
    for (way, code) in WAYS.into_iter().zip([3, 0, 0, 0, 141, 141]) {
        let bench = Bench::new();
        bench.write("small.toml", &SMALL.replace("blocks = 3", "blocks = 1"));
        let mut untaken = Untaken::start(&bench, &["run", "small.toml", "--no-calibration"], way);
        if way == Way::Head {
            // The table is one piece, which a pipe takes whole: the reader leaves before.
            untaken.read = None;
        }
        let ended = untaken.finish();
        let log = bench.log();
        let made = log.events.iter().filter(|event| matches!(event, Event::RunEnded { .. } | Event::RunFailed { .. }));
        assert_eq!(made.count(), 2, "{way:?}: {}", untaken.errors());
        assert!(matches!(log.events.last(), Some(Event::ExecutionEnded { .. })), "{way:?}");
        // On a busy machine a run may measure nothing, which is 1.
        assert!(ended == Some(code) || (code == 0 && ended == Some(1)), "{way:?}: {ended:?}: {}", untaken.errors());
        if [Way::FullOutput, Way::Head].contains(&way) {
            assert!(untaken.errors().contains("log: bitcost-runs/"), "{way:?}: {}", untaken.errors());
        }
        bench.assert_nothing_left();
    }
}

pub fn lab() {
    let bench = Bench::new();
    let name = format!("untaken-{}", std::process::id());
    for way in [Way::FullErrors, Way::ClosedOutput, Way::ClosedErrors] {
        let mut untaken = Untaken::start(&bench, &["lab", "up", "pair", "--name", &name], way);
        let inside = ["lab", "exec", "--lab", &name, "h1", "--", "true"];
        eventually(PATIENCE, "the lab stands", || {
            assert!(untaken.child.try_wait().unwrap().is_none(), "{way:?}: {}", untaken.errors());
            (bench.bitcost(&inside).code == Some(0)).then_some(())
        });
        signal(untaken.child.id(), Signal::INT);
        let code = untaken.finish();
        assert!(code.is_some_and(|code| DOCUMENTED.contains(&code)), "{way:?}: {code:?}: {}", untaken.errors());
        bench.assert_nothing_left();
    }
}
