//! The sources of each room, and which of their items are tests.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::programs::root;

/// The folders of the rooms: the crates, xtask and fuzz, in order.
pub fn rooms() -> Result<Vec<PathBuf>> {
    let crates = std::fs::read_dir(root().join("crates"))?;
    let mut rooms: Vec<PathBuf> = crates.map(|room| Ok(room?.path())).collect::<Result<_>>()?;
    rooms.sort();
    rooms.extend(["xtask", "fuzz"].map(|room| root().join(room)));
    Ok(rooms)
}

/// The files below a folder that end in `.rs`, in order; none where there is no such folder.
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(below(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A file of the product, with the lines of its tests.
pub struct Source {
    pub text: String,
    /// The lines of each item that is compiled for tests alone.
    pub tests: Vec<RangeInclusive<usize>>,
    /// The names of modules in files of their own that are compiled for tests alone.
    pub test_modules: Vec<String>,
}

impl Source {
    pub fn read(path: &Path) -> Result<Source> {
        let place = || path.display().to_string();
        Ok(Source::parse(
            std::fs::read_to_string(path).with_context(place)?,
        ))
    }

    /// Reads a text that rustfmt wrote: an item is one line, or ends with a bracket that is not indented. Tests within a block,
    /// such as a method, are taken for the product.
    fn parse(text: String) -> Source {
        let (mut tests, mut test_modules) = (Vec::new(), Vec::new());
        let mut lines = (1..).zip(text.lines());
        while let Some((first, line)) = lines.next() {
            if line != "#[cfg(test)]" {
                continue;
            }
            let item = lines.find(|(_, line)| !line.starts_with("#["));
            let is_last = |line: &str| ["}", "};", "];", ");"].contains(&line);
            let last = match item {
                Some((number, line)) if line.ends_with([';', '}']) => number,
                _ => lines
                    .find(|(_, line)| is_last(line))
                    .map_or(first, |(number, _)| number),
            };
            tests.push(first..=last);
            let module = item.and_then(|(_, line)| line.strip_prefix("mod ")?.strip_suffix(';'));
            test_modules.extend(module.map(str::to_owned));
        }
        Source {
            text,
            tests,
            test_modules,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_apart_from_the_product() {
        let text = "fn a() {}\n#[cfg(test)]\nmod far;\n#[cfg(test)]\nmod near {\n}\nfn b() {}\n";
        let source = Source::parse(text.to_owned());
        assert_eq!(source.tests, [2..=3, 4..=6]);
        assert_eq!(source.test_modules, ["far"]);
    }
}
