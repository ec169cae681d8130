//! `cargo xtask lines`: the lines of Rust of each room, those of the product apart from tests.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::files::{Source, below, is_tool, rooms};

/// Lines of one room, or of several.
#[derive(Clone, Copy, Default)]
struct Lines {
    own: usize,
    tests: usize,
}

/// Prints a line for each room: of the product, then of the tools, then their sums.
///
/// # Errors
/// When a source cannot be read.
pub fn run() -> Result<bool> {
    let (mut product, mut tools) = (Vec::new(), Vec::new());
    for room in rooms()? {
        let name = room.file_name().unwrap_or_default().to_string_lossy();
        let part = if is_tool(&room) {
            &mut tools
        } else {
            &mut product
        };
        part.push((name.into_owned(), count(&room)?));
    }
    println!("{:<12} {:>8} {:>8}", "room", "lines", "tests");
    for (part, rooms) in [("product", product), ("tools", tools)] {
        let mut sum = Lines::default();
        for (name, lines) in &rooms {
            print(name, *lines);
            sum.own += lines.own;
            sum.tests += lines.tests;
        }
        print(part, sum);
        println!();
    }
    Ok(true)
}

fn print(name: &str, lines: Lines) {
    println!("{name:<12} {:>8} {:>8}", lines.own, lines.tests);
}

/// The lines of a room. What is compiled for tests alone is tests, and so are the files next to `src`,
/// but for the targets of `fuzz`.
fn count(room: &Path) -> Result<Lines> {
    let (mut sources, mut only_tests) = (Vec::new(), BTreeSet::new());
    for path in [below(&room.join("src")), below(&room.join("fuzz_targets"))].concat() {
        let source = Source::read(&path)?;
        for module in source
            .test_modules
            .iter()
            .map(|name| children(&path).join(name))
        {
            only_tests.extend(below(&module));
            only_tests.insert(module.with_extension("rs"));
        }
        sources.push((path, source));
    }
    let mut lines = Lines::default();
    for (path, source) in sources {
        let all = source.text.lines().count();
        let tests = if only_tests.contains(&path) {
            all
        } else {
            source.tests.into_iter().map(Iterator::count).sum()
        };
        lines.own += all - tests;
        lines.tests += tests;
    }
    for path in below(&room.join("tests")) {
        lines.tests += std::fs::read_to_string(&path)?.lines().count();
    }
    Ok(lines)
}

/// The folder with the modules of a file.
fn children(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = path.file_stem().unwrap_or_default();
    let is_folder = ["lib", "main", "mod"].iter().any(|own| name == *own);
    if is_folder {
        folder.to_owned()
    } else {
        folder.join(name)
    }
}
