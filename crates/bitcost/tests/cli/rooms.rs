//! The rooms of ARCHITECTURE.md compared with the manifests and sources: the rooms and crates on
//! which each may depend.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use bitcost_model::host_settings::{HostSetting, QDISC};
use bitcost_sys::netlink::{Discipline, discipline};
use toml_edit::{DocumentMut, Item};

/// The entry in the table of rooms for a room that may use all others above it.
const ALL: &str = "all of these";

/// Crates that give clocks, sockets, files or threads.
const WORLD: [&str; 5] = ["libc", "rustix", "signal-hook", "tempfile", "tokio"];

/// Rooms, each with the crates of other projects that it must not use.
const FOREIGN: &[(&str, &[&str])] = &[
    ("analysis", &WORLD),
    ("host", &["tokio"]),
    ("import", &WORLD),
    ("lab", &["tokio"]),
    ("model", &WORLD),
    ("probe", &["serde", "serde_json", "tokio"]),
    ("render", &WORLD),
    ("stats", &WORLD),
    ("study", &WORLD),
    ("sys", &["serde", "serde_json", "tokio"]),
    ("traffic", &["serde", "serde_json", "tokio"]),
];

/// The only room with code that the compiler cannot check.
const UNSAFE: &str = "sys";

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn manifest(path: &Path) -> DocumentMut {
    fs::read_to_string(path).unwrap().parse().unwrap()
}

fn rooms() -> Vec<(String, DocumentMut)> {
    let folders = fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap());
    folders
        .map(|folder| {
            (
                folder.file_name().into_string().unwrap(),
                manifest(&folder.path().join("Cargo.toml")),
            )
        })
        .collect()
}

/// The dependencies of the program itself, including those of one target only and of the build
/// script.
fn dependencies(manifest: &DocumentMut) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(Item::as_table_like);
    let tables = targets
        .iter()
        .flat_map(|targets| targets.iter())
        .filter_map(|(_, target)| target.as_table_like());
    let all = std::iter::once(manifest.as_table() as &dyn toml_edit::TableLike).chain(tables);
    let sections =
        all.flat_map(|table| [table.get("dependencies"), table.get("build-dependencies")]);
    let names = sections
        .flatten()
        .filter_map(Item::as_table_like)
        .flat_map(|section| section.iter());
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Each crate of the table in ARCHITECTURE.md with its column *uses*.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(crates().join("../ARCHITECTURE.md")).unwrap();
    let (_, table) = text
        .split_once("| room | it is | uses |")
        .expect("a table of rooms with the column *uses*");
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
    {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let uses = match columns[3] {
            "–" => BTreeSet::new(),
            ALL => arrows.keys().cloned().collect(),
            names => names.split(", ").map(str::to_owned).collect(),
        };
        arrows.insert(columns[1].trim_matches('`').to_owned(), uses);
    }
    arrows
}

#[test]
fn arrows_are_those_of_the_table() {
    let (rooms, arrows) = (rooms(), arrows());
    let names: BTreeSet<&String> = rooms.iter().map(|(room, _)| room).collect();
    assert_eq!(
        names,
        arrows.keys().collect(),
        "each room has its row in ARCHITECTURE.md"
    );
    for (room, manifest) in &rooms {
        let packages = dependencies(manifest);
        let used = packages
            .iter()
            .filter_map(|package| package.strip_prefix("bitcost-"))
            .map(str::to_owned);
        let used: BTreeSet<String> = used.collect();
        let allowed = &arrows[room];
        assert!(
            used.is_subset(allowed),
            "{room} may use {allowed:?}, it uses {used:?}"
        );
        let is_program = room == "bitcost";
        assert!(
            is_program || used == *allowed,
            "{room} uses {used:?}, ARCHITECTURE.md says {allowed:?}"
        );
    }
}

#[test]
fn rooms_do_without_what_is_not_theirs() {
    for (room, manifest) in rooms() {
        let foreign = FOREIGN.iter().filter(|(name, _)| *name == room);
        let dependencies = dependencies(&manifest);
        let wrong: Vec<_> = foreign
            .flat_map(|(_, names)| *names)
            .filter(|name| dependencies.contains(**name))
            .collect();
        assert!(wrong.is_empty(), "{room} may not use {wrong:?}");
    }
}

#[test]
fn the_compiler_forbids_unsafe_code_outside_of_one_room() {
    let workspace = manifest(&crates().join("../Cargo.toml"));
    assert_eq!(
        workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str(),
        Some("forbid")
    );
    for (room, manifest) in rooms() {
        let follows = manifest["lints"].get("workspace").and_then(Item::as_bool) == Some(true);
        assert_eq!(follows, room != UNSAFE, "{room}: [lints] workspace = true");
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn every_source_file_says_first_what_it_is() {
    let sources = sources(&crates());
    assert!(sources.len() > 50, "{}", sources.len());
    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        assert!(
            first
                .strip_prefix("//! ")
                .is_some_and(|words| !words.trim().is_empty()),
            "{}",
            path.display()
        );
    }
}

/// The names that an error of the grammar of qdiscs lists after `before`.
fn listed(asked: &str, before: &str) -> BTreeSet<String> {
    let error = QDISC.read(asked).unwrap_err();
    let (_, names) = error.0.split_once(before).unwrap();
    let (names, _) = names.split_once(';').unwrap();
    let names = names.split(", ").filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// `model` reads a qdisc and its parameters, `netlink` makes it, and neither may use the other.
#[test]
fn qdiscs_that_are_read_are_those_that_can_be_made() {
    let made: BTreeSet<String> = Discipline::kinds().map(str::to_owned).collect();
    let mut read = listed("no-such-qdisc", "known: ");
    assert!(read.remove("default"));
    assert_eq!(read, made);
    for kind in Discipline::kinds() {
        let used = RefCell::new(BTreeSet::new());
        (discipline(kind).unwrap().encode)(&|name| {
            used.borrow_mut().insert(name.to_owned());
            Some(1)
        });
        let words = listed(&format!("{kind} no-such-parameter 1"), "it has: ");
        let named = |word: &String| {
            let mut values = ["1", "1ms", "1%", "on"].into_iter();
            let read = |value| QDISC.read(&format!("{kind} {word} {value}")).ok();
            match &values.find_map(read).expect("a value")[0].setting {
                HostSetting::Qdisc(qdisc) => qdisc.parameters.keys().next().cloned(),
                other => panic!("{other}"),
            }
        };
        assert_eq!(
            words.iter().filter_map(named).collect::<BTreeSet<_>>(),
            used.into_inner(),
            "{kind}"
        );
    }
}
