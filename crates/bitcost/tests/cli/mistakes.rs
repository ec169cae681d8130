//! What bitcost says of mistakes: each line of the files in `mistakes` with the whole answer. After
//! an intended change `INSTA_UPDATE=always cargo test -p bitcost --test cli mistakes` writes the new
//! text; read its diff.

use std::fs;
use std::path::Path;

use bitcost_testkit::split;
use insta::assert_snapshot;

use crate::words::bitcost;

/// The answer to a command that is refused: exit code 2, nothing on standard output, and nothing
/// new in its folder.
fn refused(folder: &Path, words: &[&str]) -> String {
    let files = || fs::read_dir(folder).unwrap().count();
    let before = files();
    let (code, stdout, stderr) = bitcost(folder, words);
    assert_eq!((code, stdout.as_str()), (Some(2), ""), "{stderr}");
    assert_eq!(files(), before, "{words:?}");
    stderr
}

/// Every command line with its answer in this folder.
fn answers_in(folder: &Path, lines: &str) -> String {
    let answer = |line| format!("$ bitcost {line}\n{}", refused(folder, &split(line)));
    lines.lines().map(answer).collect()
}

fn answers(lines: &str) -> String {
    answers_in(tempfile::tempdir().unwrap().path(), lines)
}

#[test]
fn a_mistake_on_the_command_line_is_named() {
    let answers = answers(include_str!("mistakes/bitcost.txt"));
    // The labs of the machine, which may have some of other people.
    let (before, rest) = answers.split_once("is running; running: ").unwrap();
    let after = rest.split_once('\n').unwrap().1;
    assert_snapshot!(format!("{before}is running; running: LABS\n{after}"));
}

/// Of many files that cannot be imported each is named, and none is imported.
#[test]
fn what_is_wrong_with_a_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let import = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests");
    let read = |name: &str| fs::read_to_string(import.join(name)).unwrap();
    let whole = read("fixtures/iperf3/iperf3-tcp.json");
    let sizes = [0, 1, 2].map(|file| {
        let rows = (1..=7000).map(|size| format!("{},100\n", 7000 * file + size));
        format!("local_send_size,throughput\n{}", String::from_iter(rows))
    });
    for (name, text) in [
        ("sizes-1.csv", sizes[0].as_str()),
        ("sizes-2.csv", sizes[1].as_str()),
        ("sizes-3.csv", sizes[2].as_str()),
        ("empty.csv", "local_send_size,throughput\n"),
        ("other.csv", "a,b\n1,2\n"),
        ("cut.mn", &read("miniedit/campus.mn")[..500]),
        ("whole.json", &whole),
        ("cut.json", &whole[..whole.len() / 2]),
        ("notes.txt", "milk\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let lines = include_str!("mistakes/files.txt");
    assert_snapshot!(answers_in(folder.path(), lines));
}

/// Command lines of iperf3 and netperf, each with the sentence that says how it is written here.
#[test]
fn what_iperf3_and_netperf_write_otherwise_is_named_with_how_it_is_written_here() {
    let answers = answers(include_str!("mistakes/iperf3-and-netperf.txt"));
    for answer in answers.split("$ ") {
        assert!(answer.lines().count() <= 2, "more than a line: {answer}");
    }
    assert_snapshot!(answers);
}

/// A rate whose letter was forgotten carries no message in the time of a test.
#[test]
fn a_rate_that_carries_no_message_is_refused_with_what_it_means() {
    assert_snapshot!(answers(include_str!("mistakes/rates.txt")));
}

/// Each line of the file is the beginning of a line of a study, and what stands there instead. `run`
/// and `plan` say the same.
#[test]
fn a_mistake_in_a_study_is_named_with_its_line() {
    let study = bitcost(Path::new("/"), &["studies", "not-all-mbits"]).1;
    let mut answers = String::new();
    for line in include_str!("mistakes/study.txt").lines() {
        let (right, wrong) = line.split_once(" -> ").unwrap();
        let wrong = wrong.replace("\\n", "\n");
        let folder = tempfile::tempdir().unwrap();
        assert!(study.contains(right), "{right}");
        fs::write(
            folder.path().join("mine.toml"),
            study.replacen(right, &wrong, 1),
        )
        .unwrap();
        let [plan, run] =
            ["plan", "run"].map(|verb| refused(folder.path(), &[verb, "./mine.toml"]));
        assert_eq!(plan, run, "{line}");
        answers += &format!("{line}\n{plan}");
    }
    assert_snapshot!(answers);
}
