//! The output of commands that run nothing: plans, studies, and mistakes. Nothing is created.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use bitcost_testkit::assert_says;
use insta::assert_snapshot;

/// Exit code, standard output, standard error.
pub type Said = (Option<i32>, String, String);

/// Runs bitcost in a folder, for a page of the default width.
pub fn bitcost(folder: &Path, words: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bitcost"));
    let output = command
        .args(words)
        .current_dir(folder)
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// The standard output of a command that succeeds, prints nothing else and creates nothing.
fn printed(words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = bitcost(folder.path(), words);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    stdout
}

/// The lines above and below the runs: where they are made, how many there are, how long they take. A
/// plan contacts no host, so that the hosts need not exist.
#[test]
fn a_plan_says_how_long_it_takes_and_where() {
    let plans = [
        &[][..],
        &["--budget", "10m"],
        &["--until-interval", "10%"],
        &["--until-interval", "10%", "--blocks", "3"],
        &["--like-the-document"],
        &["--sender", "ssh:me@no.invalid", "--sudo"],
    ];
    let frame = |words: &&[&str]| {
        let plan = printed(&[&["plan", "not-all-mbits", "--seed", "7"], *words].concat());
        let (head, runs) = plan.split_once("  run  block  ").unwrap();
        let (_, rest) = runs.split_once("\n\n").unwrap();
        format!("{words:?}\n{head}{rest}\n")
    };
    assert_snapshot!(plans.iter().map(frame).collect::<String>());
}

#[test]
fn studies_are_listed_and_printed() {
    let list = printed(&["studies"]);
    let study = printed(&["studies", "not-all-mbits"]);
    assert!(list.lines().any(|line| line == "not-all-mbits"), "{list}");
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies")).unwrap();
    for path in files.map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert_eq!(
            printed(&["studies", name]),
            fs::read_to_string(&path).unwrap()
        );
        assert!(list.lines().any(|line| line == name), "{name}: {list}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), study).unwrap();
    let (code, plan, _) = bitcost(folder.path(), &["plan", "./mine.toml", "--seed", "1"]);
    let embedded = printed(&["plan", "not-all-mbits", "--seed", "1"]);
    assert_eq!(
        (code, plan),
        (Some(0), embedded.replacen("not-all-mbits", "mine", 1))
    );
}

#[test]
fn each_study_has_a_short_form_and_its_document_s_lengths() {
    let list = printed(&["studies"]);
    for study in list.lines().filter(|line| !line.starts_with(' ')) {
        for form in ["--ci", "--like-the-document"] {
            let (code, plan, said) = bitcost(Path::new("."), &["plan", study, form]);
            assert!(
                code == Some(0) && said.lines().all(|line| line.starts_with("warning: ")),
                "{study} {form}: {said}"
            );
            assert_says(&plan, &[" block", "; about "]);
        }
    }
}

/// What a shell is told may follow these words.
fn completed(shell: &str, home: &Path, words: &[&str]) -> String {
    let mut bitcost = Command::new(env!("CARGO_BIN_EXE_bitcost"));
    bitcost.env("BITCOST_COMPLETE", shell).env("HOME", home);
    bitcost.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    bitcost.env("_CLAP_IFS", "\n").current_dir(home);
    let output = bitcost.args(["--", "bitcost"]).args(words).output();
    String::from_utf8(output.expect("it runs").stdout).expect("text")
}

#[test]
fn shells_complete_options_and_the_names_of_studies_labs_and_hosts() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".ssh")).unwrap();
    let ssh = "Host far-1 far-2 far-*\n  User me\n";
    fs::write(home.path().join(".ssh/config"), ssh).unwrap();
    fs::write(home.path().join("fabric.toml"), "").unwrap();
    for shell in ["bash", "zsh", "fish"] {
        assert_says(&printed(&["completions", shell]), &["BITCOST_COMPLETE"]);
        for (words, expected) in [
            (&["run", "not"][..], "not-all-mbits\n"),
            (&["plan", "f"], "fabric.toml\n"),
            (&["lab", "up", "l"], "lab15\n"),
            (&["test", "tcp", "--topology", "w"], "wire\n"),
            (&["test", "tcp", "far"], "far-1\nfar-2\n"),
            (&["run", "lab15", "--receiver", "lo"], "local\n"),
            (&["test", "tcp", "--message-s"], "--message-size\n"),
        ] {
            let said = completed(shell, home.path(), words);
            let names = said.lines().map(|line| match shell {
                "zsh" => line.split(':').next().unwrap_or(line),
                _ => line.split('\t').next().unwrap_or(line),
            });
            let names: String = names.map(|name| format!("{name}\n")).collect();
            assert_eq!(names, expected, "{shell}: {words:?}");
        }
    }
}

#[test]
fn bash_completes_by_the_script() {
    let script = printed(&["completions", "bash"]);
    let ask = "COMP_WORDS=(bitcost studies con); COMP_CWORD=2; _clap_complete_bitcost bitcost con; echo \"${COMPREPLY[*]}\"";
    let program = Path::new(env!("CARGO_BIN_EXE_bitcost"));
    let folder = program.parent().expect("a folder").display();
    let found = std::env::var("PATH").expect("a PATH");
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("{script}\n{ask}")]);
    let output = bash.env("PATH", format!("{folder}:{found}")).output();
    let said = String::from_utf8(output.expect("bash runs").stdout).expect("text");
    assert_eq!(said, "constant-rate\n");
}

#[test]
fn a_miniedit_file_is_printed_as_a_lab_file_and_its_commands_never_run() {
    let folder = tempfile::tempdir().unwrap();
    let campus = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../import/tests/miniedit/campus.mn"
    ))
    .unwrap();
    fs::write(
        folder.path().join("campus.mn"),
        campus.replace("python3 -m http.server 80", "touch here"),
    )
    .unwrap();
    let (code, stdout, stderr) = bitcost(folder.path(), &["import", "campus.mn"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for part in [
        "# hosts[0] h1: startCommand: `touch here",
        "#   h1-eth0 - S1-eth1",
        "[egress.h1-eth0]",
        "MICROSECONDS",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert!(!stdout.contains('\u{1b}'), "control characters are escaped");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn embedded_labs_are_listed_and_printed() {
    let names: Vec<String> = printed(&["lab", "presets"])
        .lines()
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["wire", "pair", "switch", "lab15"]);
    assert!(printed(&["lab", "presets", "lab15"]).contains("[egress.s1-eth2]\ndelay = \"20ms\""));
}

#[test]
fn without_a_folder_the_newest_execution_is_read() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["older", "newer"] {
        let execution = folder.path().join("bitcost-runs").join(name);
        fs::create_dir_all(&execution).unwrap();
        fs::write(execution.join("events.jsonl"), "").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (_, _, stderr) = bitcost(folder.path(), &["show"]);
    assert_says(&stderr, &["the newest execution: bitcost-runs/newer"]);
}
