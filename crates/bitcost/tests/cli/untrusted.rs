//! Folders and files of untrusted users: the program does not hang, writes nothing outside of its
//! folder, and runs nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bitcost_execute::store::seal_again;
use bitcost_testkit::assert_says;

use crate::words::bitcost;

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sizes/events.jsonl");

/// Asserts the exit code of a command and words on standard error, which it returns.
fn refused(words: &[&str], code: i32, says: &[&str]) -> String {
    let (found, _, said) = bitcost(Path::new("."), words);
    assert_eq!(found, Some(code), "{said}");
    assert_says(&said, says);
    said
}

fn fifo(path: &Path) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
}

/// A folder with a copy of the recorded execution in it.
fn execution() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("execution");
    fs::create_dir(&folder).unwrap();
    fs::copy(LOG, folder.join("events.jsonl")).unwrap();
    (place, folder)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_log_that_is_no_regular_file_is_said_to_be_none() {
    let (place, folder) = execution();
    let log = folder.join("events.jsonl");
    let folder = folder.to_str().unwrap();
    let link = place.path().join("link");
    symlink(folder, &link).unwrap();
    // The folder may be a link.
    refused(&["show", link.to_str().unwrap()], 0, &[]);
    fs::remove_file(&log).unwrap();
    fifo(&log);
    for words in [
        &["show", folder][..],
        &["show", log.to_str().unwrap()],
        &["run", "--resume", folder],
        &["report", folder],
    ] {
        refused(
            words,
            2,
            &["events.jsonl: it is a FIFO or a pipe, not a regular file"],
        );
    }
    fs::remove_file(&log).unwrap();
    symlink("/dev/zero", &log).unwrap();
    refused(&["show", folder], 2, &["a symbolic link"]);
    refused(&["run", "--resume", folder], 2, &["a symbolic link"]);
}

#[test]
fn a_study_or_a_lab_that_is_no_regular_file_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("study.toml");
    fifo(&path);
    let path = path.to_str().unwrap();
    for words in [["plan", path], ["run", path]] {
        refused(&words, 2, &["it is a FIFO or a pipe, not a regular file"]);
    }
    refused(&["lab", "up", path], 2, &["it is a FIFO"]);
    refused(&["plan", "/dev/zero"], 2, &["it is a device"]);
}

#[test]
fn a_report_is_not_written_through_a_link() {
    let (place, folder) = execution();
    let precious = place.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    symlink(&precious, folder.join("report.html")).unwrap();
    let says = ["report.html: it is a symbolic link", "--out FILE"];
    refused(&["report", folder.to_str().unwrap()], 3, &says);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    refused(
        &["report", folder.to_str().unwrap(), "--out", "/dev/null"],
        3,
        &["it is a device"],
    );
    assert_eq!(names(&folder), ["events.jsonl", "report.html"]);
    fs::remove_file(folder.join("report.html")).unwrap();
    for _ in 0..2 {
        refused(&["report", folder.to_str().unwrap()], 0, &[]);
    }
    assert_eq!(names(&folder), ["events.jsonl", "report.html"]);
}

#[test]
fn a_report_that_does_not_fit_leaves_the_old_one() {
    let (_place, folder) = execution();
    fs::write(folder.join("report.html"), "old").unwrap();
    // A limit on the size of files fails a write in the middle, as a full disk does.
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "trap '' XFSZ; ulimit -f 8; exec \"$0\" report \"$1\"",
        env!("CARGO_BIN_EXE_bitcost"),
    ]);
    let output = shell.arg(&folder).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_says(&said, &["cannot write", "report.html"]);
    assert_eq!(
        fs::read_to_string(folder.join("report.html")).unwrap(),
        "old"
    );
    assert_eq!(names(&folder), ["events.jsonl", "report.html"]);
}

#[test]
fn an_import_that_does_not_fit_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let sizes = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../import/tests/fixtures/udp-size-sweep.csv"
    );
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "trap '' XFSZ; ulimit -f 1; exec \"$0\" import --out \"$1\" \"$2\"",
        env!("CARGO_BIN_EXE_bitcost"),
    ]);
    let out = place.path().join("new/runs");
    let output = shell.arg(out).arg(sizes).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert_eq!(names(place.path()), [""; 0], "{said}");
}

#[test]
fn pages_of_the_manual_are_not_written_through_links() {
    let place = tempfile::tempdir().unwrap();
    let (precious, pages) = (place.path().join("precious"), place.path().join("man1"));
    let out = ["man", "--out", pages.to_str().unwrap()];
    refused(&out, 0, &[]);
    let all = names(&pages);
    assert!(
        ["bitcost.1", "bitcost-run.1", "bitcost-lab-up.1"]
            .iter()
            .all(|page| all.contains(&(*page).to_owned()))
    );
    fs::write(&precious, "precious").unwrap();
    fs::remove_file(pages.join("bitcost-run.1")).unwrap();
    symlink(&precious, pages.join("bitcost-run.1")).unwrap();
    refused(&out, 3, &["bitcost-run.1: it is a symbolic link"]);
    assert_eq!(
        (
            fs::read_to_string(&precious).unwrap().as_str(),
            names(&pages)
        ),
        ("precious", all)
    );
}

/// A study with this number of factors, each with this number of levels.
fn study(factors: usize, levels: usize) -> String {
    let levels: Vec<String> = (0..levels)
        .map(|level| format!("{{ label = {level} }}"))
        .collect();
    let factor = |number: usize| {
        format!(
            "[[factor]]\nname = \"f{number}\"\nlevels = [{}]\n",
            levels.join(", ")
        )
    };
    let factors: String = (0..factors).map(factor).collect();
    format!("title = \"t\"\nquestion = \"q\"\n{factors}[run]\nblocks = 1\n")
}

#[test]
fn what_is_too_large_is_refused_before_it_is_expanded() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        fs::write(place.path().join(name), text).unwrap();
        place.path().join(name).to_str().unwrap().to_owned()
    };
    let large = write("large.toml", &study(10, 20));
    let says = [
        "10240000000000 combinations of levels",
        "allowed: at most 20000",
    ];
    for verb in ["plan", "run"] {
        refused(&[verb, &large], 2, &says);
    }
    let endless = write("endless.toml", &study(30, 20));
    refused(
        &["plan", &endless],
        2,
        &["at least 18446744073709551615 combinations"],
    );
    let long = write("long.toml", &study(2, 101));
    refused(
        &["plan", &long, "--blocks", "1000"],
        2,
        &["10201000 runs", "allowed: at most 200000"],
    );
    for (count, says) in [
        (
            100_000,
            ["100000 nodes and 0 links", "allowed: at most 1000 of each"],
        ),
        (
            400_000,
            ["the text has 4", "bytes; allowed: at most 2097152"],
        ),
    ] {
        let hosts: Vec<String> = (0..count).map(|host| format!("\"h{host}\"")).collect();
        let lab = format!("hosts = [\n{}\n]\n", hosts.join(",\n"));
        refused(&["lab", "up", &write("lab.toml", &lab)], 2, &says);
    }
    let hosts: Vec<String> = (0..30_000)
        .map(|host| format!("{{\"opts\": {{\"hostname\": \"h{host}\", \"nodeNum\": {host}}}}}"))
        .collect();
    let edited = format!(
        "{{\"version\": \"2\", \"hosts\": [{}], \"links\": [], \"switches\": []}}",
        hosts.join(",")
    );
    refused(
        &["lab", "up", &write("lab.mn", &edited)],
        2,
        &["30000 nodes and 0 links", "allowed: at most"],
    );
}

#[test]
fn what_takes_far_more_memory_than_its_text_is_refused_before_it_is_expanded() {
    let (place, folder) = execution();
    let write = |name: &str, text: &str| {
        fs::write(place.path().join(name), text).unwrap();
        place.path().join(name).to_str().unwrap().to_owned()
    };
    let many = write("many.toml", &study(33, 1));
    refused(&["plan", &many], 2, &["33 factors; allowed: at most 32"]);
    let list = format!("x = [{}0]\n", "0, ".repeat(300_000));
    let says = ["300002 values; allowed: at most 200000"];
    refused(&["plan", &write("list.toml", &list)], 2, &says);
    refused(&["lab", "up", &write("list.mn", &list)], 2, &says);
    let wrong: String = (0..100_000).map(|n| format!("a{n} = 1\n")).collect();
    let said = refused(&["plan", &write("wrong.toml", &wrong)], 2, &["unknown key"]);
    assert!(said.lines().count() <= 101, "{said}");
    let log = fs::read_to_string(LOG).unwrap();
    let cells = "{\"levels\":[],\"conditions\":{}},".repeat(100_000);
    for (of, more, says) in [
        ("\"cells\":[", cells, "a list of more than 100000"),
        (
            "\"plan\":{",
            format!("\"x\":[{}0],", "0,".repeat(5_000_000)),
            "values; allowed: at most 4500000",
        ),
        (
            "\"run_began\",",
            format!("\"x\":[{}0],", "0,".repeat(1_000_000)),
            "values; allowed: at most 1000000",
        ),
    ] {
        let large = log.replacen(of, &format!("{of}{more}"), 1);
        fs::write(folder.join("events.jsonl"), seal_again(&large)).unwrap();
        let (code, _, said) = bitcost(Path::new("."), &["show", folder.to_str().unwrap()]);
        assert!(code != Some(0) && said.contains(says), "{of}: {said}");
    }
}

#[test]
fn a_name_in_an_error_stays_in_its_line() {
    let place = tempfile::tempdir().unwrap();
    let hostile = "h1\\nbitcost: all is well\\u001b[2J";
    let files = [
        (
            "a.mn",
            format!(
                "{{\"version\": \"2\", \"hosts\": [{{\"opts\": {{\"hostname\": \"{hostile}\", \"nodeNum\": 1, \"ip\": \"x\"}}}}]}}"
            ),
        ),
        (
            "b.mn",
            format!(
                "{{\"version\": \"2\", \"switches\": [{{\"opts\": {{\"hostname\": \"{hostile}\"}}}}]}}"
            ),
        ),
        ("c.toml", format!("hosts = [\"{hostile}\"]\n")),
        (
            "d.toml",
            format!("hosts = [\"h1\"]\n[[link]]\nends = [\"h1\", \"{hostile}\"]\n"),
        ),
        (
            "e.toml",
            format!("hosts = [\"h1\", \"h2\"]\ngro_off = [\"{hostile}\"]\n"),
        ),
        (
            "f.toml",
            format!(
                "hosts = [\"h1\", \"h2\"]\n[[link]]\nends = [\"h1\", \"h2\"]\ndevices = [\"{hostile}\", \"x\"]\n"
            ),
        ),
    ];
    for (name, text) in files {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        let words = ["lab", "up", path.to_str().unwrap()];
        let said = refused(&words, 2, &["h1\\nbitcost: all is well"]);
        assert!(
            said.lines().count() == 1 && !said.contains('\u{1b}'),
            "{name}: {said:?}"
        );
    }
}
