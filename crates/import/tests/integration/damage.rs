//! Damaged files give an error sentence or runs, never a crash, and always a log with a study that
//! can be read.

use std::path::{Path, PathBuf};

use bitcost_import::{FORMATS, Found, Head, read};
use bitcost_model::event::Event;
use bitcost_study::Study;

/// Places at which each file is cut, and changes that are made to it.
const CUTS: usize = 40;
const CHANGES: usize = 60;

/// Words that programs print in unusual cases.
const ODD: [&str; 6] = [
    "e999",
    "-1e999,\"=\n",
    "18446744073709551615",
    "-nan",
    "\n\n",
    "{\"a\":[",
];

/// Every fixture.
fn fixtures() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    collect(
        &PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"),
        &mut files,
    );
    assert!(files.len() > 30, "{}", files.len());
    files
}

fn collect(folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push((
                path.display().to_string(),
                std::fs::read(&path).expect("reads"),
            ));
        }
    }
}

/// A repeatable sequence of numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

fn must_make_a_log(name: &str, runs: Vec<Found>) {
    if runs.is_empty() {
        return;
    }
    let head = Head {
        name: "x",
        version: "0.1.0",
        at: "2026-11-21T10:00:00Z",
        command_line: Vec::new(),
    };
    let events = bitcost_import::execution(runs, head);
    let Event::ExecutionBegan { study_text, .. } = &events[0] else {
        panic!("{name}: no begin")
    };
    if let Err(error) = Study::parse("x.toml", study_text) {
        panic!("{name}: {error}\n{study_text}");
    }
    for event in &events {
        let written = serde_json::to_string(event).expect("is written");
        if let Err(error) = serde_json::from_str::<Event>(&written) {
            panic!("{name}: {error}: {written}");
        }
    }
}

#[test]
fn a_number_without_bound_says_nothing() {
    let text =
        std::fs::read_to_string("tests/fixtures/netperf/netperf-interim.txt").expect("reads");
    let words: Vec<&str> = text
        .split(' ')
        .filter(|word| word.parse::<f64>().is_ok())
        .collect();
    for word in words {
        let odd = text.replacen(word, &format!("{word}e5001"), 1);
        if let Ok(runs) = read("odd", odd.as_bytes()) {
            must_make_a_log(word, runs);
        }
    }
}

#[test]
fn cut_and_changed_files_do_no_harm() {
    let mut numbers = Numbers(7);
    for (name, whole) in fixtures() {
        for cut in 0..CUTS {
            if let Ok(runs) = read(&name, &whole[..whole.len() * cut / CUTS]) {
                must_make_a_log(&name, runs);
            }
        }
        for _ in 0..CHANGES {
            let mut bytes = whole.clone();
            for _ in 0..=numbers.next(4) {
                change(&mut bytes, &mut numbers);
            }
            if let Ok(runs) = read(&name, &bytes) {
                must_make_a_log(&name, runs);
            }
        }
    }
}

fn change(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    let place = numbers.next(bytes.len());
    match numbers.next(4) {
        0 => bytes.truncate(place),
        1 if !bytes.is_empty() => bytes[place] ^= 1 << numbers.next(8),
        2 if !bytes.is_empty() => bytes[place] = numbers.next(256) as u8,
        _ => bytes
            .splice(place..place, ODD[numbers.next(ODD.len())].bytes())
            .for_each(drop),
    }
}

/// The content of a file decides which reader is used; but no reader may crash on a file of another
/// format.
#[test]
fn every_reader_bears_every_file() {
    for (name, whole) in fixtures() {
        let Ok(text) = String::from_utf8(whole) else {
            continue;
        };
        for cut in [
            text.len(),
            text.len() / 2,
            text.len() / 3,
            10.min(text.len()),
            0,
        ] {
            let Some(text) = text.get(..cut) else {
                continue;
            };
            for format in FORMATS {
                if let Ok(runs) = format.read(&name, text) {
                    must_make_a_log(&format!("{name} as {}", format.name), runs);
                }
            }
        }
    }
}
