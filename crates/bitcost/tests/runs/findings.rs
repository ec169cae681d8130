//! What a log says is found once: no verb that makes an execution reads its log, `show` reads it
//! once, and every verb has the same document.

use crate::bench::*;
use std::collections::BTreeSet;

use bitcost_model::workload::WORKLOADS;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

bitcost_testkit::trials! {
    Host: executions_do_not_read_their_logs, every_verb_has_the_document_of_a_test, every_verb_has_the_document_of_each_embedded_study;
}

const SHORT: [&str; 4] = ["-t", "300ms", "-O", "50ms"];

/// Reports openings of files in a folder, and whether anything was read of them.
struct Watch(rustix::fd::OwnedFd);

impl Watch {
    fn new(folder: &Path) -> Watch {
        let watch = Watch(inotify::init(CreateFlags::NONBLOCK).unwrap());
        let what = WatchFlags::OPEN | WatchFlags::ACCESS | WatchFlags::CLOSE;
        inotify::add_watch(&watch.0, folder, what).unwrap();
        watch
    }

    /// How often the file of this name was opened, read and closed.
    fn readings(&self, name: &str) -> usize {
        let mut space = [std::mem::MaybeUninit::uninit(); 1 << 16];
        let mut reader = inotify::Reader::new(&self.0, &mut space);
        let (mut count, mut is_read) = (0, false);
        while let Ok(event) = reader.next() {
            if event
                .file_name()
                .is_none_or(|file| file.to_bytes() != name.as_bytes())
            {
                continue;
            }
            is_read |= event.events().contains(ReadFlags::ACCESS);
            if event
                .events()
                .intersects(ReadFlags::CLOSE_NOWRITE | ReadFlags::CLOSE_WRITE)
            {
                count += usize::from(std::mem::take(&mut is_read));
            }
        }
        count
    }
}

/// Runs a verb that makes an execution in `out`, and counts the readings of its log.
fn readings_of(bench: &Bench, words: &[&str]) -> (Done, usize) {
    let out = bench.path().join("out");
    let known: BTreeSet<_> = folders(&out);
    let running = bench.start(&[words, &["--out", "out"]].concat());
    let new = || folders(&out).difference(&known).next().cloned();
    let folder = eventually(PATIENCE, "the execution's folder", new);
    let watch = Watch::new(&folder);
    let done = running.finish(PATIENCE);
    (done, watch.readings("events.jsonl"))
}

fn folders(out: &Path) -> BTreeSet<std::path::PathBuf> {
    let entries = std::fs::read_dir(out).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn executions_do_not_read_their_logs() {
    let bench = Bench::new();
    bench.write("mine.toml", SMALL);
    let test = [&["test", "tcp"], &SHORT[..]].concat();
    for words in [&test[..], &["run", "mine.toml", "--blocks", "2"]] {
        for form in ["text", "json"] {
            let (done, count) = readings_of(&bench, &[words, &["--format", form]].concat());
            // On a busy machine runs are left out.
            assert!(matches!(done.code, Some(0 | 1)), "{}", done.stderr);
            assert_eq!(count, 0, "{words:?} reads its log");
            let newest = folders(&bench.path().join("out")).pop_last().unwrap();
            let watch = Watch::new(&newest);
            let shown = bench.bitcost(&["show", newest.to_str().unwrap(), "--format", form]);
            assert_eq!(
                (shown.code, &shown.stdout),
                (Some(0), &without_seconds(&done))
            );
            assert_eq!(watch.readings("events.jsonl"), 1, "show reads a log once");
        }
    }
    bench.assert_nothing_left();
}

/// What was printed, without the lines of a test's seconds.
fn without_seconds(done: &Done) -> String {
    let is_second = |line: &&str| line.get(5..7) == Some(" s") && line.contains("receiver");
    let lines = done.stdout.lines().filter(|line| !is_second(line));
    lines.map(|line| format!("{line}\n")).collect()
}

fn embedded(page: &str) -> Value {
    let begin = "<script type=\"application/json\" class=\"result\">";
    let (_, rest) = page.split_once(begin).expect("the document");
    serde_json::from_str(rest.split_once("</script>").unwrap().0).expect("JSON")
}

fn assert_same_document(bench: &Bench, folder: &Path, printed: &Value) {
    let folder = folder.to_str().unwrap();
    let shown = bench.bitcost(&["show", "--json", folder]).json();
    assert_eq!(&shown, printed);
    let page = bench
        .bitcost(&["report", folder, "--out", "-"])
        .with_code(0);
    assert_eq!(&embedded(&page.stdout), printed);
}

/// The schemas of a document and of a line of a log.
fn schemas() -> [jsonschema::Validator; 2] {
    ["result", "log"].map(|of| {
        let schema = Bench::new().bitcost(&["studies", "schema", of]);
        jsonschema::validator_for(&schema.with_code(0).json()).expect("a schema")
    })
}

/// Asserts that a document, and each line of the log that it is of, are as their schemas say.
fn assert_as_described(
    [of_result, of_line]: &[jsonschema::Validator; 2],
    folder: &Path,
    document: &Value,
) {
    let mistakes = |validator: &jsonschema::Validator, value: &Value| -> Vec<String> {
        let found = validator.iter_errors(value);
        found
            .map(|mistake| format!("{}: {mistake}", mistake.instance_path()))
            .collect()
    };
    assert_eq!(mistakes(of_result, document), [""; 0]);
    let log = std::fs::read_to_string(folder.join("events.jsonl")).unwrap();
    for line in log.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        assert_eq!(mistakes(of_line, &event), [""; 0], "{line:.200}");
    }
}

fn every_verb_has_the_document_of_a_test() {
    let schemas = schemas();
    for workload in WORKLOADS {
        let bench = Bench::new();
        let words = [&["test", workload.short_name, "--json"], &SHORT[..]].concat();
        let done = bench.bitcost(&words).with_code(0);
        let printed = done.json();
        assert!(printed["bottleneck"]["words"].is_string(), "{printed:#}");
        assert_eq!(printed["bottleneck"], printed["cells"][0]["bottleneck"]);
        let folder = bench.execution();
        assert_same_document(&bench, &folder, &printed);
        assert_as_described(&schemas, &folder, &printed);
        let explained = bench.bitcost(&["explain", folder.to_str().unwrap()]);
        explained.assert_prints(printed["bottleneck"]["words"].as_str().unwrap());
    }
}

/// The names of the embedded studies; each has a line without a margin.
fn embedded_studies() -> Vec<String> {
    let list = Bench::new().bitcost(&["studies"]).with_code(0);
    let names = list.stdout.lines().filter(|line| !line.starts_with(' '));
    names.map(str::to_owned).collect()
}

/// A study that is stopped prints what it has: its first runs are enough.
fn every_verb_has_the_document_of_each_embedded_study() {
    let studies = embedded_studies();
    assert!(studies.len() >= 8, "{studies:?}");
    let schemas = schemas();
    for study in studies {
        let bench = Bench::new();
        // Its runs end by a count, which only the short form lowers.
        let is_counted = study == "offload-lab-counted";
        let short = if is_counted {
            "--ci"
        } else {
            "--duration=300ms"
        };
        let running = bench.start(&["run", &study, "--json", short, "--no-calibration"]);
        bench.wait_for_run(&running, 1);
        running.signal_group(Signal::INT);
        let done = running.finish(PATIENCE);
        assert_eq!(done.code, Some(130), "{study}: {}", done.stderr);
        let printed = done.json();
        assert!(printed["bottleneck"]["words"].is_string(), "{printed:#}");
        assert_same_document(&bench, &bench.execution(), &printed);
        assert_as_described(&schemas, &bench.execution(), &printed);
    }
}
