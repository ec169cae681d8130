//! Other programs: where they are, what they print, and those that this workspace builds.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use bitcost_model::Unavailable;
use serde::Serialize;
use serde_json::Value;

pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The file of a program: in a folder of the path, of programs of root, or of programs that cargo installs.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cargo = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo/bin"));
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .chain(cargo)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// A command of a program, wherever it is.
pub fn command(program: &str) -> Command {
    Command::new(find(program).unwrap_or_else(|| program.into()))
}

/// [`Unavailable`] where one of these programs is not here; `packages` are those of Debian that have them.
pub fn require(programs: &str, packages: &str) -> Result<()> {
    let mut programs = programs.split_whitespace();
    match programs.find(|program| find(program).is_none()) {
        Some(missing) => {
            let why = format!("{missing} is missing: apt-get install {packages}");
            Err(Unavailable(why).into())
        }
        None => Ok(()),
    }
}

/// What a program prints; an error with all of it where the program fails.
pub fn output(command: &mut Command) -> Result<String> {
    captured(command).map(|[printed, _]| printed)
}

/// The JSON that a program prints.
pub fn json(command: &mut Command) -> Result<Value> {
    let printed = output(command)?;
    serde_json::from_str(&printed).with_context(|| format!("no JSON: {printed}"))
}

/// What a program prints on standard output and standard error.
pub fn captured(command: &mut Command) -> Result<[String; 2]> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output();
    let output = output.with_context(|| format!("start {program}"))?;
    let [printed, errors] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let (status, said) = (output.status, errors.trim());
    ensure!(status.success(), "{program}: {status}\n{printed}{said}");
    Ok([printed, errors])
}

/// The median of a metric of the only cell.
pub fn median(run: &Value, name: &str) -> Result<f64> {
    let cell = &run["cells"][0];
    let median = cell[name]["median"].as_f64();
    median.with_context(|| format!("no {name} in {cell}"))
}

/// The link that a service prints.
pub fn link_in(printed: &str) -> Option<String> {
    let mut link = printed[printed.find("bitcost://")?..].split(['\'', '\n', ' ']);
    link.next().map(str::to_owned)
}

/// Runs a program that prints for the user.
pub fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status();
    let status = status.with_context(|| format!("start {program}"))?;
    ensure!(status.success(), "{program}: {status}");
    Ok(())
}

/// Puts options in the place of those of their names, since a later one of the same name is refused; an option without a value
/// is left away.
pub fn put(command: &mut Vec<String>, words: &[&str]) {
    while let Some(place) = command.iter().position(|word| word == words[0]) {
        command.drain(place..place + 2);
    }
    if words.len() > 1 {
        command.extend(words.iter().map(|&word| word.to_owned()));
    }
}

/// The letters of options that remedies name in full.
const LETTERS: [(&str, &str); 5] = [
    ("--message-size", "-l"),
    ("--mss", "-M"),
    ("--congestion", "-C"),
    ("--rate", "-b"),
    ("--flows", "-P"),
];

/// The words of a command line with what a remedy of `--json` adds to it and leaves away, as a shell reads them; absent where it
/// does neither.
pub fn remedied(command: &[String], remedy: &Value) -> Option<Vec<String>> {
    let mut changed = command.to_vec();
    let said = ["removes", "options"].map(|key| remedy[key].as_str().unwrap_or_default());
    let named = said.into_iter().flat_map(|text| text.split("--").skip(1));
    for option in named {
        let (name, value) = option.trim().split_once(' ').unwrap_or((option.trim(), ""));
        let name = format!("--{name}");
        let letters = LETTERS.iter().filter(|(long, _)| *long == name);
        letters.for_each(|(_, letter)| put(&mut changed, &[letter]));
        // Each setting by name is an option of its own.
        let words = [&*name, value];
        match &*name {
            "--set" => changed.extend(words.map(str::to_owned)),
            _ if value.is_empty() => put(&mut changed, &words[..1]),
            _ => put(&mut changed, &words),
        }
    }
    (changed != command).then_some(changed)
}

/// Adds a line of JSON to a file.
pub fn append(path: &Path, line: &impl Serialize) -> Result<()> {
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(path)?;
    writeln!(file, "{}", serde_json::to_string(line)?)
        .with_context(|| format!("write {}", path.display()))
}

/// Set by the signals that end a program, which then ends after it has cleaned up; those that it runs end by the same signal.
pub fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// The bitcost that was given, else the one of this workspace.
pub fn given_or_built(given: Option<&Path>) -> Result<PathBuf> {
    match given {
        Some(path) => path
            .canonicalize()
            .with_context(|| path.display().to_string()),
        None => built(),
    }
}

/// bitcost as users build it, in the folder of this program.
fn built() -> Result<PathBuf> {
    run(Command::new(env!("CARGO")).args(["build", "--release", "--package", "bitcost"]))?;
    let path = std::env::current_exe()?.with_file_name("bitcost");
    ensure!(path.exists(), "{} is not there", path.display());
    Ok(path)
}
