//! What the pages and studies say of the documents: each quotation names the line that it stands
//! on, and stands there.
//!
//! The documents are not part of the repository. Where a folder `shared/seeds` is next to it or
//! higher up, the words are compared with their lines.

// The test harness shows what a test prints.
#![allow(clippy::disallowed_macros)]

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// Words of a document, and where they stand in it.
#[derive(Debug, PartialEq)]
struct Quotation {
    words: String,
    file: String,
    first: usize,
    last: usize,
}

/// The text with each run of white space as one space.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The reference with which a text begins: `` (`FILE.txt:LINE`) ``, or without the backticks, or
/// with `FIRST-LAST`.
fn reference(text: &str) -> Option<(String, usize, usize)> {
    let (inside, _) = text.strip_prefix(" (")?.split_once(')')?;
    let (file, lines) = inside.trim_matches('`').split_once(':')?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let [first, last] = [first.parse().ok()?, last.parse().ok()?];
    (file.ends_with(".txt") && 1 <= first && first <= last).then(|| (file.to_owned(), first, last))
}

/// The quotations of a paragraph, or the words between quotation marks that no reference follows.
fn quotations(paragraph: &str) -> Result<Vec<Quotation>, String> {
    let paragraph = spaced(paragraph);
    let mut found = Vec::new();
    let mut rest = outside_code(&paragraph);
    while let Some((_, after)) = rest.split_once('"') {
        let (words, after) = after
            .split_once('"')
            .ok_or_else(|| format!("a quotation without an end: {after}"))?;
        let (file, first, last) = reference(after)
            .ok_or_else(|| format!("no reference (`FILE.txt:LINE`) follows \"{words}\""))?;
        found.push(Quotation {
            words: words.to_owned(),
            file,
            first,
            last,
        });
        rest = after.to_owned();
    }
    Ok(found)
}

/// A paragraph without the quotation marks inside of backticks.
fn outside_code(paragraph: &str) -> String {
    let pieces = paragraph.split('`').enumerate();
    let kept = pieces.map(|(at, piece)| match at % 2 {
        0 => piece.to_owned(),
        _ => piece.replace('"', ""),
    });
    kept.collect::<Vec<_>>().join("`")
}

/// The paragraphs, rows and items of a page, without its blocks of code.
fn paragraphs(page: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut code = false;
    for line in page.lines() {
        let fence = line.starts_with("```");
        let begins = line.is_empty() || line.starts_with("- ") || line.starts_with('|');
        if fence || begins {
            all.push(String::new());
        }
        code ^= fence;
        if !code && !fence {
            let last = all.last_mut().unwrap();
            last.push_str(line);
            last.push('\n');
        }
    }
    all
}

/// The comments right before each `[[check]]` and before `[expect]` of a study.
fn comments(study: &str) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut comment = String::new();
    let mut lines = study.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix('#') {
            comment.push_str(text);
            comment.push('\n');
            continue;
        }
        if line == "[[check]]" || line == "[expect]" {
            let next = lines.peek().copied().unwrap_or_default();
            all.push((format!("{line} {next}"), comment.clone()));
        }
        comment.clear();
    }
    all
}

/// The folder with the text of the documents, if it is on this machine.
fn seeds() -> Option<PathBuf> {
    let root = root();
    let folders = root.ancestors().skip(1);
    folders
        .map(|folder| folder.join("shared/seeds"))
        .find(|folder| folder.is_dir())
}

/// The files of a folder whose names begin and end so, with their texts.
fn texts(folder: &str, begin: &str, end: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join(folder)).unwrap();
    let mut found: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| name.starts_with(begin) && name.ends_with(end))
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{folder}");
    found
}

/// Every quotation of the pages and studies, with its file.
fn all_quotations() -> (Vec<(String, Quotation)>, Vec<String>) {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    let mut add = |name: &str, place: &str, text: &str, needed: bool| match quotations(text) {
        Ok(none) if none.is_empty() && needed => {
            faults.push(format!("{name}: no quotation for {place}"));
        }
        Ok(some) => found.extend(some.into_iter().map(|one| (name.to_owned(), one))),
        Err(fault) => faults.push(format!("{name}: {fault}")),
    };
    let pages = [
        texts("docs/studies", "", ".md"),
        texts("docs", "from-", ".md"),
    ];
    for (name, page) in pages.concat() {
        let mut mistakes = false;
        for text in paragraphs(&page) {
            mistakes =
                text.starts_with("Mistakes in the document") || mistakes && !text.starts_with('#');
            let needed = mistakes && text.starts_with("- ");
            add(&name, &spaced(&text), &text, needed);
        }
    }
    for (name, study) in texts("studies", "", ".toml") {
        for (place, comment) in comments(&study) {
            let ours = comment.trim_start().starts_with("Not in the document");
            add(&name, &place, &comment, !ours);
        }
    }
    (found, faults)
}

#[test]
fn each_quotation_of_a_document_names_the_line_that_it_stands_on() {
    let (found, faults) = all_quotations();
    assert_eq!(faults, [""; 0]);
    assert!(found.len() > 60, "{}", found.len());
    let Some(folder) = seeds() else {
        eprintln!("skipped: no folder shared/seeds with the documents to compare the words with");
        return;
    };
    let wrong: Vec<String> = found
        .iter()
        .filter_map(|(name, quotation)| {
            let text = fs::read_to_string(folder.join(&quotation.file)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            let stands = lines
                .get(quotation.first - 1..quotation.last)
                .map(|lines| spaced(&lines.join(" ").replace('*', "")))
                .unwrap_or_default();
            (!stands.contains(&quotation.words)).then(|| format!("{name}: {quotation:?}: {stands}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_quotation_without_its_line_is_found() {
    let good = quotations("It says \"a\n  b\" (`x.txt:3-4`), and \"c\" (x.txt:9).").unwrap();
    assert_eq!(good.len(), 2);
    assert_eq!((good[0].words.as_str(), good[0].last), ("a b", 4));
    for fault in [
        "It says \"a\".",
        "\"a\" (x.txt)",
        "\"a\" (x.txt:0)",
        "\"a\" (x.txt:4-3)",
        "\"a\" (x.md:4)",
        "\"a (x.txt:4)",
    ] {
        assert!(quotations(fault).is_err(), "{fault}");
    }
    assert_eq!(quotations("`\"a\"` is code").unwrap(), []);
}
