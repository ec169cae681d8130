//! The cases in which an execution is not resumed: another machine, a log that another bitcost
//! writes.

use crate::bench::*;
use bitcost_execute::store::seal_again;

bitcost_testkit::trials! {
    Host: resume_refuses_another_machine_or_log, resume_repeats_runs_without_data, a_lab_file_is_needed_only_for_the_first_run, cut_log_resumes;
}

fn resume_refuses_another_machine_or_log() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let running = bench.start(&["run", "small.toml"]);
    bench.wait_for_run(&running, 0);
    let held = ["is being written by another bitcost"];
    refused(&bench, 3, &held);
    running.finish(PATIENCE).assert_code(0);
    nothing_is_missing(&bench);
    changed(&bench);
    another_machine(&bench);
    no_log(&bench);
    bench.assert_nothing_left();
}

/// Asserts that resuming ends with this code and these words, and that the log is unchanged.
fn refused(bench: &Bench, code: i32, says: &[&str]) {
    let before = plan_and_machine(bench);
    let done = bench.bitcost(&["run", "--resume", &bench.execution_name()]);
    assert_eq!(done.code, Some(code), "{}", done.stderr);
    assert_eq!(done.stdout, "");
    assert_says(&done.stderr, says);
    assert_eq!(plan_and_machine(bench), before);
}

fn plan_and_machine(bench: &Bench) -> Vec<String> {
    let text = fs::read_to_string(log_file(&bench.execution())).unwrap();
    text.lines()
        .take(3)
        .chain(text.lines().filter(|line| line.contains("\"resumed\"")))
        .map(str::to_owned)
        .collect()
}

/// With a complete log, the result is printed again, and nothing is run.
fn nothing_is_missing(bench: &Bench) {
    let folder = bench.execution();
    let done = bench
        .bitcost(&["run", "--json", "--resume", folder.to_str().unwrap()])
        .with_code(0);
    assert!(!done.stderr.contains("run 1 of"), "{}", done.stderr);
    assert_eq!(runs_per_cell(&done.json()), [3, 3]);
}

/// If the log was changed, or does not match its study, nothing is started.
fn changed(bench: &Bench) {
    let folder = bench.execution();
    let path = log_file(&folder);
    let whole = fs::read_to_string(&path).unwrap();
    let check = |text: String, says: &[&str]| {
        fs::write(&path, text).unwrap();
        refused(bench, 2, says);
    };
    let planned = whole.replacen("\"duration_ms\":300", "\"duration_ms\":301", 1);
    let is_other = "the plan in the log is not the one that its study and seed give";
    check(seal_again(&planned), &[is_other]);
    check(planned, &[":2: the log is damaged", "checksum"]);
    let plan = whole.lines().nth(1).unwrap();
    let twice = format!("{whole}{plan}\n");
    check(seal_again(&twice), &["holds a second plan"]);
    let is_other = |line: &&str| !line.contains("\"event\":\"prepared\"");
    let unplaced: Vec<&str> = whole.lines().filter(is_other).collect();
    let unplaced = seal_again(&unplaced.join("\n"));
    check(unplaced, &["does not describe their hosts"]);
    fs::write(&path, whole).unwrap();
}

fn another_machine(bench: &Bench) {
    let folder = bench.execution();
    let path = log_file(&folder);
    let text = fs::read_to_string(&path).unwrap();
    let is_it = |line: &&str| line.contains("\"event\":\"prepared\"");
    let line = text.lines().find(is_it).unwrap();
    let mut prepared: Value = serde_json::from_str(line).unwrap();
    prepared["endpoints"][1]["host"]["kernel"] = "2.6.18".into();
    let changed = text.replace(line, &unsealed(prepared));
    fs::write(&path, seal_again(&changed)).unwrap();
    let says = ["receiver: kernel: was 2.6.18, is "];
    refused(bench, 3, &says);
}

/// A run whose result is empty is repeated; a run whose offloads are not as requested is not.
fn resume_repeats_runs_without_data() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    bench
        .bitcost(&["run", "small.toml", "--blocks", "2"])
        .assert_code(0);
    let folder = bench.execution();
    let text = fs::read_to_string(log_file(&folder)).unwrap();
    let doctored = text.lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        if event["event"] == "run_ended" {
            match event["run"].as_u64() {
                Some(1) => event["receiver"]["counts"]["measured"]["bytes"] = 0.into(),
                Some(2) => {
                    event["sender"]["window_end_ns"] = event["sender"]["window_start_ns"].clone()
                }
                Some(3) => {
                    let offloads = &mut event["sender"]["offloads"];
                    offloads["requested"]["rx-gro"] = true.into();
                    offloads["active"]["rx-gro"] = false.into();
                }
                _ => {}
            }
        }
        format!("{}\n", unsealed(event))
    });
    let doctored = seal_again(&doctored.collect::<String>());
    fs::write(log_file(&folder), doctored).unwrap();
    let words = ["run", "--json", "--resume", folder.to_str().unwrap()];
    let done = bench.bitcost(&words).with_code(1);
    let tried = done.stderr.lines().filter(|line| line.starts_with("run "));
    let tried: Vec<&str> = tried.map(|line| &line[..10]).collect();
    assert_eq!(tried, ["run 2 of 4", "run 3 of 4"]);
    let document = done.json();
    assert_eq!(runs_per_cell(&document).iter().sum::<u64>(), 3);
    let excluded = document["excluded"].as_array().unwrap().iter();
    let excluded: Vec<&Value> = excluded.map(|run| &run["run"]).collect();
    assert_eq!(excluded, [3]);
    bench.assert_nothing_left();
}

fn no_log(bench: &Bench) {
    let folder = bench.path().join("nowhere");
    let done = bench.bitcost(&["run", "--resume", "nowhere"]).with_code(2);
    assert_says(&done.stderr, &["there is no", "nowhere"]);
    assert!(!folder.exists());
}

/// The log has the text of the lab file and the study's answer: after the file is gone, the
/// execution is shown, reported and resumed.
fn a_lab_file_is_needed_only_for_the_first_run() {
    let bench = Bench::new();
    let lab = "hosts = [\"a\", \"b\"]\n[[link]]\nends = [\"a\", \"b\"]\n";
    bench.write("lab.toml", lab);
    let topology = "topology = \"lab.toml\"\nmtu_bytes = 1400";
    let study = SMALL.replace("mtu_bytes = 1500", topology);
    let answer = "[answer]\nmetric = \"throughput_mbps\"\nof = { message_size_bytes = 512 }\nto = { message_size_bytes = 1024 }\nwords = \"Small ones carry {of}, {ratio} of large ones.\"\n";
    bench.write("own.toml", &format!("{study}{answer}"));
    let running = bench.start(&["run", "own.toml"]);
    bench.wait_for_run(&running, 1);
    running.signal_group(rustix::process::Signal::INT);
    running.finish(PATIENCE).assert_code(130);
    fs::remove_file(bench.path().join("lab.toml")).unwrap();
    let folder = bench.execution();
    let folder = folder.to_str().unwrap();
    let resumed = bench.bitcost(&["run", "--resume", folder]).with_code(0);
    resumed.assert_says("\nSmall ones carry ");
    let shown = bench.bitcost(&["show", folder, "--json"]).with_code(0);
    assert_eq!(runs_per_cell(&shown.json()), [3, 3]);
    assert_eq!(shown.json()["lab"]["mtu_bytes"], 1400);
    bench.bitcost(&["report", folder]).assert_code(0);
    let page = fs::read_to_string(bench.execution().join("report.html")).unwrap();
    assert!(page.contains("Small ones carry "));
    bench.assert_nothing_left();
}

/// An execution of one block and the bytes of its log.
fn execution(bench: &Bench) -> (PathBuf, Vec<u8>) {
    bench.write("small.toml", SMALL);
    let words = ["run", "small.toml", "--blocks", "1"];
    bench.bitcost(&words).assert_code(0);
    let folder = bench.execution();
    let bytes = fs::read(log_file(&folder)).unwrap();
    (folder, bytes)
}

fn cut_log_resumes() {
    let bench = Bench::new();
    let (folder, bytes) = execution(&bench);
    let resume = ["run", "--json", "--resume", folder.to_str().unwrap()];
    let ends = (0..bytes.len()).filter(|at| bytes[*at] == b'\n');
    let ends: Vec<usize> = ends.collect();
    // These lengths end in the first line, in the description of the machine, and in the last run's
    // result.
    for (length, runs) in [
        (ends[0] - 5, None),
        (ends[1] + 100, Some([1, 1])),
        (ends[6] - 5, Some([1, 1])),
    ] {
        fs::write(log_file(&folder), &bytes[..length]).unwrap();
        let Some(runs) = runs else {
            let done = bench.bitcost(&resume).with_code(2);
            done.assert_says("nothing was run; start a new execution");
            continue;
        };
        let done = bench.bitcost(&resume).with_code(0);
        done.assert_says("the log ends within line ");
        assert_eq!(runs_per_cell(&done.json()), runs);
        assert_eq!(bench.log().end.incomplete, None);
    }
    bench.assert_nothing_left();
}
