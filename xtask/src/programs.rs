//! Other programs: where they are, what they print, and those that this workspace builds.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use bitcost_model::Unavailable;
use bitcost_model::settings::SETTINGS;
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

/// The ways in which a command line names an option: in full and by its letter.
fn names(option: &str) -> Vec<String> {
    let flags = SETTINGS.iter().filter_map(|setting| setting.flag);
    let mut all = flags.map(|flag| {
        let letter = flag.letter.map(|letter| format!("-{letter}"));
        let names = letter.into_iter().chain([format!("--{}", flag.long)]);
        names.collect::<Vec<_>>()
    });
    let own = all.find(|names| names.iter().any(|name| name == option));
    own.unwrap_or_else(|| vec![option.to_owned()])
}

/// The words of a command line with what a remedy of `--json` adds to it and leaves away, as a shell reads them; absent where it
/// does neither.
pub fn remedied(command: &[String], remedy: &Value) -> Option<Vec<String>> {
    let mut changed = command.to_vec();
    for said in ["removes", "options"].map(|key| remedy[key].as_str().unwrap_or_default()) {
        for option in format!(" {said}").split(" -").skip(1) {
            let (name, value) = option.split_once(' ').unwrap_or((option, ""));
            let name = format!("-{name}");
            // Each setting by name is an option of its own.
            if name != "--set" {
                names(&name)
                    .iter()
                    .for_each(|name| put(&mut changed, &[name]));
            }
            if !value.is_empty() {
                changed.extend([name, value.to_owned()]);
            }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_option_of_a_remedy_stands_in_the_place_of_its_letter_and_of_its_name() {
        let made = |command: &str, remedy: Value| {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            remedied(&words, &remedy).map(|words| words.join(" "))
        };
        let larger = json!({ "options": "--message-size 65536 --set receive_size_bytes=auto" });
        let expected = "tcp -R --message-size 65536 --set receive_size_bytes=auto";
        assert_eq!(made("tcp -l 120 -R", larger).as_deref(), Some(expected));
        let smaller = json!({ "options": "-M 1200" });
        let expected = "tcp -M 1200";
        assert_eq!(made("tcp --mss 1400", smaller).as_deref(), Some(expected));
        let without = json!({ "removes": "--rate" });
        let expected = "tcp -R";
        assert_eq!(made("tcp -b 15M -R", without).as_deref(), Some(expected));
        let elsewhere = json!({ "words": "raise the limit of that queue" });
        assert_eq!(made("tcp -R", elsewhere), None);
    }
}
