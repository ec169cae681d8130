//! Output that cannot be written: full disks, closed descriptors, and readers that leave after a
//! line.

use crate::bench::*;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, PipeReader};

bitcost_testkit::trials! {
    Host: no_verb_panics_when_output_is_closed, execution_is_complete_when_output_is_closed, lab_stays_up_when_stderr_is_closed;
}

/// The ways in which output cannot be written.
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

const WAYS: [Way; 6] = [
    Way::FullOutput,
    Way::FullErrors,
    Way::ClosedOutput,
    Way::ClosedErrors,
    Way::Head,
    Way::HeadOfBoth,
];

/// The documented exit codes; a command may end with no other.
const DOCUMENTED: [i32; 6] = [0, 1, 2, 3, 130, 141];

/// Every verb with each of its forms of output. `EXECUTION` is replaced by an execution's folder.
const COMMANDS: &str = "\
--help
--version
no-such-verb
agent
agent --identify
compare EXECUTION EXECUTION
completions bash
explain EXECUTION
host show
host restore
import iperf3.json
improve tcp -4 -6
lab presets
lab ls
lab down no-such-lab
lab exec --lab no-such-lab h1 -- true
lab up no-such-lab
limits goodput --rate 1G
man
plan not-all-mbits
report EXECUTION
report EXECUTION --out -
run no-such-study
serve no-such-address
studies schema log
studies schema result
studies schema study
show EXECUTION
show EXECUTION --format csv
show EXECUTION --json
studies new
studies
test tcp -t 100ms -O 50ms
watch --once -t 100ms
";

/// A command whose output cannot be written in one way.
struct Untaken {
    child: Child,
    /// The pipe that `head -1` reads.
    read: Option<PipeReader>,
    /// The file for standard error, unless that is the output in question.
    errors: PathBuf,
}

impl Untaken {
    fn start(bench: &Bench, words: &[&str], way: Way) -> Untaken {
        let closed = |redirection: &str| {
            let line = format!("exec \"$@\" {redirection}");
            let mut command = bench.command("sh".as_ref(), &["-c", &line, "sh"]);
            command.arg(program()).args(words);
            command
        };
        let mut command = match way {
            Way::ClosedOutput => closed(">&-"),
            Way::ClosedErrors => closed("2>&-"),
            _ => bench.command(&program(), words),
        };
        let errors = bench.path().join("errors");
        command.stdout(Stdio::null());
        command.stderr(File::create(&errors).unwrap());
        let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut read = None;
        match way {
            Way::FullOutput => drop(command.stdout(full())),
            Way::FullErrors => drop(command.stderr(full())),
            Way::ClosedOutput | Way::ClosedErrors => {}
            Way::Head | Way::HeadOfBoth => read = Some(pipe(&mut command, way == Way::HeadOfBoth)),
        }
        Untaken {
            child: command.spawn().unwrap(),
            read,
            errors,
        }
    }

    /// Reads one line and closes the pipe if there is a reader; waits for the end; returns the exit
    /// code.
    fn finish(&mut self) -> Option<i32> {
        if let Some(reader) = self.read.take() {
            let mut reader = BufReader::with_capacity(1, reader);
            reader.read_line(&mut String::new()).unwrap();
        }
        eventually(PATIENCE, "it ends", || self.child.try_wait().unwrap()).code()
    }

    /// The output on standard error, if it is captured.
    fn errors(&self) -> String {
        fs::read_to_string(&self.errors).unwrap()
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
    let file = include_str!("../../../import/tests/fixtures/iperf3/iperf3-tcp.json");
    bench.write("iperf3.json", file);
    let imported = bench.bitcost(&["import", "iperf3.json"]).with_code(0);
    (bench, imported.stdout.trim().to_owned())
}

fn no_verb_panics_when_output_is_closed() {
    let (bench, execution) = bench();
    let help: &str = bench.bitcost(&["--help"]).stdout.leak();
    let lines = help.lines().skip_while(|line| *line != "Commands:");
    let lines = lines.take_while(|line| !line.is_empty());
    let verb = |line: &'static str| line.strip_prefix("  ")?.split(' ').next();
    let is_verb = |verb: &&str| !verb.is_empty() && *verb != "help";
    let verbs: BTreeSet<&str> = lines.filter_map(verb).filter(is_verb).collect();
    let tried = COMMANDS.lines().filter_map(|line| line.split(' ').next());
    let tried: BTreeSet<&str> = tried.collect();
    let missing: Vec<_> = verbs.difference(&tried).collect();
    assert!(
        verbs.len() > 10 && missing.is_empty(),
        "no row: {missing:?}"
    );
    for line in COMMANDS.lines() {
        let line = line.replace("EXECUTION", &execution);
        let words: Vec<&str> = line.split(' ').collect();
        for way in WAYS {
            let mut untaken = Untaken::start(&bench, &words, way);
            let code = untaken.finish();
            let errors = untaken.errors();
            let is_documented = code.is_some_and(|code| DOCUMENTED.contains(&code));
            assert!(is_documented, "{words:?} {way:?}: {code:?}\n{errors}");
            assert!(!errors.contains("panicked"), "{words:?} {way:?}: {errors}");
            if words[0] == "test" && way == Way::FullOutput {
                assert_eq!(code, Some(3), "{words:?}: {errors}");
                assert!(errors.contains("No space left on device"), "{errors}");
            }
        }
    }
    bench.assert_nothing_left();
}

/// Both runs are made and logged even if the output cannot be written; the exit code depends on
/// standard output alone.
fn execution_is_complete_when_output_is_closed() {
    for (way, code) in [
        (Way::FullOutput, 3),
        (Way::ClosedErrors, 0),
        (Way::Head, 141),
    ] {
        let bench = Bench::new();
        bench.write("small.toml", &SMALL.replace("blocks = 3", "blocks = 1"));
        let mut untaken = Untaken::start(&bench, &["run", "small.toml", "--no-calibration"], way);
        if way == Way::Head {
            // The table is one piece, which a pipe takes as a whole: the reader must leave before
            // it.
            untaken.read = None;
        }
        let ended = untaken.finish();
        let log = bench.log();
        let made = crate::bench::ended(&log).len() + failed(&log).len();
        assert_eq!(made, 2, "{way:?}: {}", untaken.errors());
        let last = log.events.last();
        assert!(
            matches!(last, Some(Event::ExecutionEnded { .. })),
            "{way:?}"
        );
        // On a busy machine a run may measure nothing; the exit code is 1 then.
        let is_it = ended == Some(code) || (code == 0 && ended == Some(1));
        assert!(is_it, "{way:?}: {ended:?}: {}", untaken.errors());
        if [Way::FullOutput, Way::Head].contains(&way) {
            assert_says(&untaken.errors(), &["log: bitcost-runs/"]);
        }
        bench.assert_nothing_left();
    }
}

fn lab_stays_up_when_stderr_is_closed() {
    let bench = Bench::new();
    let name = format!("untaken-{}", std::process::id());
    for way in [Way::FullErrors, Way::ClosedOutput, Way::ClosedErrors] {
        let mut untaken = Untaken::start(&bench, &["lab", "up", "pair", "--name", &name], way);
        let inside = ["lab", "exec", "--lab", &name, "h1", "--", "true"];
        eventually(PATIENCE, "the lab stands", || {
            let ended = untaken.child.try_wait().unwrap();
            assert!(ended.is_none(), "{way:?}: {}", untaken.errors());
            (bench.bitcost(&inside).code == Some(0)).then_some(())
        });
        signal(untaken.child.id(), Signal::INT);
        let code = untaken.finish().expect("a code");
        let errors = untaken.errors();
        assert!(DOCUMENTED.contains(&code), "{way:?}: {code}: {errors}");
        bench.assert_nothing_left();
    }
}
