//! `cargo xtask lines`: the lines of Rust of each room, those of the product apart from tests, and the words of the documents;
//! `--check` holds them against `lines.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use toml_edit::{DocumentMut, value};

use crate::programs::{output, root};
use crate::source::{Source, below, rooms};

/// The file with the most lines of each room and of each sum.
const BOUNDS: &str = "lines.toml";

/// What to do with the lines.
#[derive(clap::Args)]
pub struct Arguments {
    /// Fail where there are more lines or words than lines.toml says
    #[arg(long)]
    check: bool,
    /// Lower the numbers of lines.toml to what is there
    #[arg(long, conflicts_with = "check")]
    lower: bool,
}

/// Lines of one room, or of several.
#[derive(Clone, Copy, Default)]
struct Lines {
    own: usize,
    tests: usize,
}

/// Lines and words by the tables of `lines.toml`: `rooms`, and `sums`.
type Counted = BTreeMap<(&'static str, String), usize>;

/// Prints a line for each room: of the product, then of the tools, then their sums.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let counted = count_all()?;
    if !arguments.check && !arguments.lower {
        return Ok(true);
    }
    let path = root().join(BOUNDS);
    let text = std::fs::read_to_string(&path).context(BOUNDS)?;
    let mut bounds: DocumentMut = text.parse().context(BOUNDS)?;
    let mut holds = true;
    for ((table, name), count) in counted {
        let bound = bounds.get(table).and_then(|table| table.get(&name));
        let bound = bound.and_then(|bound| bound.as_integer());
        let is_within = bound.is_some_and(|bound| count <= usize::try_from(bound).unwrap_or(0));
        if arguments.lower && is_within {
            bounds[table][&name] = value(i64::try_from(count)?);
        } else if !is_within {
            let bound = bound.map_or("no number".to_owned(), |bound| bound.to_string());
            println!("{table}.{name}: {count} are there, {BOUNDS} says {bound}");
            holds = false;
        }
    }
    if arguments.lower {
        std::fs::write(&path, bounds.to_string())?;
    }
    Ok(holds)
}

fn count_all() -> Result<Counted> {
    let mut counted = Counted::new();
    let (mut product, mut tools) = (Lines::default(), Lines::default());
    println!("{:<12} {:>8} {:>8}", "room", "lines", "tests");
    for room in rooms()? {
        let name = room.file_name().unwrap_or_default().to_string_lossy();
        let lines = count(&room)?;
        print(&name, lines);
        let sum = match &*name {
            "xtask" | "testkit" => &mut tools,
            "fuzz" => &mut Lines::default(),
            _ => &mut product,
        };
        sum.own += lines.own;
        sum.tests += lines.tests;
        counted.insert(("rooms", name.into_owned()), lines.own);
    }
    println!();
    print("product", product);
    print("tools", tools);
    let words = words()?;
    println!("{:<12} {words:>8}", "words");
    for (name, count) in [
        ("product", product.own),
        ("tests", product.tests),
        ("tools", tools.own),
        ("words", words),
    ] {
        counted.insert(("sums", name.to_owned()), count);
    }
    Ok(counted)
}

fn print(name: &str, lines: Lines) {
    println!("{name:<12} {:>8} {:>8}", lines.own, lines.tests);
}

/// The words of all Markdown that git tracks, as `wc -w` counts them.
fn words() -> Result<usize> {
    // The clone may belong to another user.
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "ls-files", "*.md"]);
    let mut words = 0;
    for name in output(git.current_dir(root()))?.lines() {
        let page = std::fs::read_to_string(root().join(name)).context(name.to_owned())?;
        words += page.split_whitespace().count();
    }
    Ok(words)
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
