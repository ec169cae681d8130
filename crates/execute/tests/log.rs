//! Logs on a real disk: truncated anywhere, resumed, in use, foreign, too new.

use std::collections::BTreeMap;
use std::fs;

use bitcost_execute::ExecuteError;
use bitcost_execute::store::{End, LOG_NAME, LogFile, Writer};
use bitcost_model::event::{Event, FORMAT, FailureKind};
use bitcost_model::imported::ImportedRun;

#[derive(Debug)]
struct Log {
    events: Vec<Event>,
    end: End,
}

fn read(folder: &std::path::Path) -> Result<Log, ExecuteError> {
    let mut events = Vec::new();
    let end = LogFile::open(folder)?.read(&mut |_, event| events.push(event))?;
    Ok(Log { events, end })
}

fn events() -> Vec<Event> {
    let at = || "2026-11-21T10:00:00+00:00".to_owned();
    let mut events = vec![Event::ExecutionBegan {
        format: FORMAT,
        bitcost_version: "0.1.0".into(),
        at: at(),
        command_line: vec!["bitcost".into(), "run".into()],
        study: "not-all-mbits".into(),
        study_text: "question = \"ä\"\n".into(),
        lab_text: None,
    }];
    for run in 0..5 {
        events.push(Event::RunBegan { run, at: at() });
        events.push(Event::RunFailed {
            run,
            kind: FailureKind::Failed,
            reason: "the agent died".into(),
        });
    }
    events.push(Event::ExecutionEnded {
        at: at(),
        enough_blocks: None,
    });
    events
}

fn written() -> (tempfile::TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().expect("a folder");
    let mut writer = Writer::create(place.path(), "x", 1).expect("created");
    events()
        .iter()
        .for_each(|event| _ = writer.append(event).expect("appended"));
    let folder = writer.folder().to_owned();
    (place, folder)
}

/// The number of the line that is refused.
fn refused(folder: &std::path::Path, lines: &[String]) -> usize {
    fs::write(folder.join(LOG_NAME), lines.concat()).expect("written");
    let said = read(folder).expect_err("damaged").to_string();
    let (place, _) = said.split_once(": the log is damaged").expect(&said);
    let (_, line) = place.rsplit_once(':').expect(place);
    line.parse().expect(line)
}

#[test]
fn a_line_that_has_no_reason_to_be_long_is_not_read() {
    let (_place, folder) = written();
    for (kind, is_refused) in [("run_began", true), ("planned", false)] {
        let line = format!(
            "{{\"event\":\"{kind}\",\"x\":[0{}]}}\n",
            ",0".repeat(9 << 20)
        );
        fs::write(folder.join(LOG_NAME), line).expect("written");
        let error = read(&folder).expect_err("no log").to_string();
        assert_eq!(
            error.contains("a line has over 16777216 bytes"),
            is_refused,
            "{error}"
        );
    }
}

#[test]
fn an_event_is_read_back_at_the_place_at_which_it_was_written() {
    let place = tempfile::tempdir().expect("a folder");
    let mut writer = Writer::create(place.path(), "x", 1).expect("created");
    let written: Vec<_> = events()
        .into_iter()
        .map(|event| (writer.append(&event).expect("appended"), event))
        .collect();
    let mut found = Vec::new();
    let log = writer.log().expect("is there");
    log.read(&mut |line, event| found.push((line, event)))
        .expect("reads");
    assert_eq!(found, written);
    let again = read(&writer.folder().join(LOG_NAME)).expect("reads");
    assert_eq!((again.events, again.end.incomplete), (events(), None));
}

#[test]
fn a_figure_reads_back_to_the_last_bit() {
    let place = tempfile::tempdir().expect("a folder");
    let mut writer = Writer::create(place.path(), "x", 1).expect("created");
    // The figures are every tenth of a wide range: most have no exact binary form.
    let figures: BTreeMap<String, f64> = (0..20_000_u32)
        .map(|n| {
            (
                format!("m{n}"),
                f64::from(n).mul_add(0.1, 1e-9).powi(1 + (n % 7) as i32),
            )
        })
        .collect();
    let imported = ImportedRun {
        figures: figures.clone(),
        ..ImportedRun::default()
    };
    writer
        .append(&Event::RunImported {
            run: 0,
            imported: Box::new(imported),
        })
        .expect("appended");
    let log = read(writer.folder()).expect("reads");
    let [Event::RunImported { imported, .. }] = &log.events[..] else {
        panic!("{:?}", log.events)
    };
    let differ = figures
        .iter()
        .filter(|(name, value)| imported.figures[*name].to_bits() != value.to_bits());
    assert_eq!(differ.count(), 0, "of {}", figures.len());
}

#[test]
fn a_log_cut_at_any_byte_opens_and_says_what_is_incomplete() {
    let (_place, folder) = written();
    let path = folder.join(LOG_NAME);
    let bytes = fs::read(&path).expect("reads");
    for length in 0..bytes.len() {
        fs::write(&path, &bytes[..length]).expect("cut");
        let log = read(&folder).expect("still opens");
        assert_eq!(log.events[..], events()[..log.events.len()]);
        let rest = length - log.end.whole_bytes as usize;
        assert_eq!(log.end.incomplete, (rest > 0).then_some(rest));
        assert!(log.end.whole_bytes == 0 || bytes[log.end.whole_bytes as usize - 1] == b'\n');
    }
}

#[test]
fn a_log_that_grew_since_it_was_read_is_refused_and_kept() {
    let (_place, folder) = written();
    let path = folder.join(LOG_NAME);
    let whole = fs::read(&path).expect("reads");
    fs::write(&path, &whole[..whole.len() - 3]).expect("the last line is being written");
    let log = read(&folder).expect("opens");
    fs::write(&path, &whole).expect("it is written");
    let refused = Writer::resume(&folder, &log.end).expect_err("in use");
    assert!(refused.to_string().contains("is being written"));
    assert_eq!(fs::read(&path).expect("reads"), whole);
}

#[test]
fn foreign_logs_are_named() {
    let (_place, folder) = written();
    let path = folder.join(LOG_NAME);
    fs::write(&path, "{\"a\":1}\n").expect("written");
    let said = |path: &std::path::Path| read(path).expect_err("no execution").to_string();
    assert!(said(&folder).contains(".jsonl:1: not an event of a bitcost log"));
    fs::write(&path, "{\"event\":\"execution_began\",\"format\":99}\n").expect("written");
    assert!(said(&folder).contains("is of log format 99"));
    fs::remove_file(&path).expect("removed");
    assert!(said(&folder).contains("an empty folder, not an execution's folder"));
    let other = folder.join("notes.txt");
    fs::write(&other, "hello").expect("written");
    assert!(said(&folder).contains("a folder with other files (notes.txt)"));
    assert!(said(&other).contains("a file of 5 bytes") && said(&other).contains("bitcost import"));
    assert!(said(&folder.join("nowhere")).contains("there is no file or folder"));
}

#[test]
fn two_executions_of_one_second_get_two_folders() {
    let place = tempfile::tempdir().expect("a folder");
    let first = Writer::create(place.path(), "x", 1).expect("created");
    let second = Writer::create(place.path(), "x", 1).expect("created");
    assert_ne!(first.folder(), second.folder());
}

fn lines(folder: &std::path::Path) -> Vec<String> {
    fs::read_to_string(folder.join(LOG_NAME))
        .expect("reads")
        .split_inclusive('\n')
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_line_stays_one_json_object_whose_last_key_is_its_checksum() {
    let (_place, folder) = written();
    for line in lines(&folder) {
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(value["checksum"].as_str().map(str::len), Some(16), "{line}");
        assert!(
            line.ends_with(&format!(
                ",\"checksum\":\"{}\"}}\n",
                value["checksum"].as_str().unwrap()
            )),
            "{line}"
        );
    }
}

#[test]
fn facts_are_of_the_file_that_is_read() {
    let (_place, folder) = written();
    let (_other, other) = written();
    let log = LogFile::open(&folder).expect("opens");
    fs::rename(other.join(LOG_NAME), folder.join(LOG_NAME)).expect("replaced");
    let said = log.read(&mut |_, _| ()).expect_err("another file");
    let words = "another file took its place";
    assert!(said.to_string().contains(words), "{said}");
}

#[test]
fn changed_removed_swapped_doubled_inserted_and_spliced_lines_are_refused() {
    let (_place, folder) = written();
    let whole = lines(&folder);
    let changed = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines = whole.clone();
        change(&mut lines);
        refused(&folder, &lines)
    };
    assert_eq!(
        changed(&|lines| lines[4] = lines[4].replace("the agent died", "the agent lied")),
        5
    );
    assert_eq!(
        changed(&|lines| lines[3] = lines[3].replace("\"run\":1", "\"run\":2")),
        4
    );
    assert_eq!(
        changed(&|lines| lines[2] = lines[2].replace(",\"checksum\":\"", ",\"checksum\":\"0")),
        3
    );
    assert_eq!(changed(&|lines| drop(lines.remove(5))), 6);
    assert_eq!(changed(&|lines| lines.swap(5, 6)), 6);
    assert_eq!(changed(&|lines| lines.insert(6, lines[5].clone())), 7);
    assert_eq!(
        changed(&|lines| lines.insert(
            6,
            "{\"event\":\"run_began\",\"run\":9,\"at\":\"x\"}\n".into()
        )),
        7
    );
    let (_other, other) = written();
    let mut tail = lines(&other);
    let first = tail[0].replace("bitcost_version\":\"0.1.0", "bitcost_version\":\"0.1.1");
    tail[0] = first;
    let tail: Vec<String> = bitcost_execute::store::seal_again(&tail.concat())
        .split_inclusive('\n')
        .map(str::to_owned)
        .collect();
    assert_eq!(
        changed(&|lines| lines.splice(6.., tail[6..].iter().cloned()).for_each(drop)),
        7
    );
}

#[test]
fn a_log_of_an_earlier_build_is_refused_with_what_keeps_its_figures() {
    let (_place, folder) = written();
    let path = folder.join(LOG_NAME);
    let whole = lines(&folder);
    let plain: String = whole[..3]
        .iter()
        .map(|line| format!("{}}}\n", &line[..line.len() - 32]))
        .collect();
    let later = whole.concat().replace("\"format\":1,", "\"format\":13,");
    for text in [plain, later] {
        fs::write(&path, text).expect("written");
        let error = read(&folder).expect_err("an earlier build's").to_string();
        assert!(error.contains("never released"), "{error}");
        assert!(error.contains("show --format csv"), "{error}");
    }
}
