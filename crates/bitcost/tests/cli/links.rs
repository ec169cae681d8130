//! Links between the documents: each leads to a file and a heading that exist, and the book has
//! every page below docs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// The Markdown files of a folder and, where wanted, of those below it, by their paths from the root.
fn pages(folder: &str, below: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = Path::new(folder).join(entry.file_name());
        if entry.file_type().unwrap().is_dir() && below {
            found.extend(pages(path.to_str().unwrap(), below));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The lines of a page outside of blocks of code, each with its number.
fn lines(page: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let mut is_code = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            found.push((index + 1, line.to_owned()));
        }
    }
    found
}

/// The targets of a line's links and pictures, without those inside of code.
fn targets(line: &str) -> Vec<String> {
    let outside: Vec<&str> = line.split('`').step_by(2).collect();
    let outside = outside.join("``");
    let ends = outside.split("](").skip(1);
    ends.filter_map(|rest| rest.split(')').next().map(str::to_owned))
        .collect()
}

/// The places of a page that a link can name: headings as GitHub and mdBook name them, and `id`s.
fn anchors(page: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in lines(page) {
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            let kept = heading.trim().to_lowercase();
            let kept = kept
                .chars()
                .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            found.insert(kept.collect::<String>().replace(' ', "-"));
        }
        for rest in line.split("<a id=\"").skip(1) {
            found.extend(rest.split('"').next().map(str::to_owned));
        }
    }
    found
}

/// A path without `..`.
fn resolved(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(whole.pop(), "{}", path.display()),
            part => whole.push(part),
        }
    }
    whole
}

#[test]
fn every_link_leads_somewhere_and_those_of_the_book_stay_in_it() {
    let mut faults = Vec::new();
    let all = [pages("", false), pages("docs", true), pages("bench", true)].concat();
    assert!(all.len() > 30, "{all:?}");
    for page in &all {
        for (number, line) in lines(page) {
            for target in targets(&line) {
                let place = format!("{}:{number}: {target}", page.display());
                let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
                if file.contains("://") {
                    continue;
                }
                let to = match file {
                    "" => page.clone(),
                    file => resolved(&page.with_file_name(file)),
                };
                if !root().join(&to).exists() {
                    faults.push(format!("{place}: there is no such file"));
                } else if !anchor.is_empty() && !anchors(&to).contains(anchor) {
                    faults.push(format!("{place}: there is no such heading"));
                } else if page.starts_with("docs") && !to.starts_with("docs") {
                    faults.push(format!("{place}: the book does not have it"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_book_has_every_page() {
    let summary = Path::new("docs/SUMMARY.md");
    let listed: BTreeSet<PathBuf> = lines(summary)
        .iter()
        .flat_map(|(_, line)| targets(line))
        .map(|target| summary.with_file_name(target))
        .collect();
    let pages = pages("docs", true).into_iter();
    let pages: BTreeSet<PathBuf> = pages.filter(|page| page != summary).collect();
    let missing: Vec<_> = pages.difference(&listed).collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

fn sources(folder: &Path, found: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            *found += &fs::read_to_string(path).unwrap();
        }
    }
}

#[test]
fn tests_that_documents_name_exist() {
    let mut code = String::new();
    sources(&root().join("crates"), &mut code);
    for page in ["docs/threat-model.md", "docs/hosts.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let rows = text.lines().filter(|line| line.starts_with('|'));
        let names = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
        let tests = names.filter_map(|name| name.rsplit_once("::"));
        let missing: Vec<&str> = tests
            .map(|(_, test)| test)
            .filter(|test| !code.contains(&format!("fn {test}(")))
            .collect();
        assert!(
            missing.is_empty(),
            "{page} names tests that do not exist: {missing:?}"
        );
    }
}
