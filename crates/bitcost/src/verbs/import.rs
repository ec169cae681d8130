//! `bitcost import`: files of other programs as an execution that show, report and compare open.

use std::io::Read;
use std::path::{Path, PathBuf};

use bitcost_execute::ExecuteError;
use bitcost_execute::labs;
use bitcost_execute::store::{USUAL_PARENT, Writer, stamped};
use bitcost_import::{Head, Run};
use bitcost_model::event::Event;
use bitcost_model::units::counted;
use bitcost_study::Study;
use bitcost_study::topology::to_toml;

use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Output files of iperf3 (-J, --json-stream, text), iperf 2 (text, -y C), netperf (default, -o,
    /// -k), nuttcp, nttcp and flent, or tables made from them as CSV; or one MiniEdit file (.mn),
    /// which is printed as a lab file
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Parent of the folder that is created for the execution
    #[arg(long, value_name = "FOLDER", default_value = USUAL_PARENT)]
    out: PathBuf,
    /// Name of the execution [default: that of the first file]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

/// Writes the execution, and says where it is.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let [file] = arguments.files.as_slice()
        && file.extension().is_some_and(|ending| ending == "mn")
    {
        return print_lab(file);
    }
    let runs = read_all(&arguments.files)?;
    let name = arguments.name.clone();
    let name = name.unwrap_or_else(|| name_of(&arguments.files[0]));
    let head = Head {
        name: &name,
        version: env!("CARGO_PKG_VERSION"),
        at: &bitcost_controller::now(),
        command_line: output::command_line(),
    };
    let events = bitcost_import::execution(runs, head);
    check(&events)?;
    let folder = write(&arguments.out, &stamped(&file_name(&name)), &events)?;
    let count = |is: fn(&Event) -> bool| events.iter().filter(|event| is(event)).count();
    let failed = count(|event| matches!(event, Event::RunFailed { .. }));
    let runs = failed + count(|event| matches!(event, Event::RunImported { .. }));
    let failures = match failed {
        0 => String::new(),
        _ => format!(", {failed} of them without a result"),
    };
    output::say(&format!("{} read{failures}", counted(runs, "run")));
    output::line(&folder.display().to_string())
}

/// Writes the log; of its folder, and of those above it, nothing stays that was not there where that
/// fails.
fn write(parent: &Path, folder: &str, events: &[Event]) -> Result<PathBuf, ExecuteError> {
    let missing = parent.ancestors().take_while(|folder| !folder.exists());
    let missing: Vec<&Path> = missing.collect();
    let written = Writer::create(parent, folder, 0).and_then(|mut writer| {
        let folder = writer.folder().to_owned();
        let append = events
            .iter()
            .try_for_each(|event| writer.append(event).map(drop));
        append.inspect_err(|_| {
            let _ = std::fs::remove_dir_all(&folder);
        })?;
        Ok(folder)
    });
    if written.is_err() {
        let _ = missing.into_iter().try_for_each(std::fs::remove_dir);
    }
    written
}

/// Refuses files that together make a larger study than is read.
fn check(events: &[Event]) -> Result<(), Failure> {
    let Some(Event::ExecutionBegan { study_text, .. }) = events.first() else {
        return Ok(());
    };
    let too_much = "nothing was imported: these files are too much for one study";
    let read = Study::parse("these files", study_text);
    read.map(drop)
        .map_err(|error| Failure::Usage(format!("{too_much}: {}", error.message)))
}

/// The runs of all files, or an error that names every file without runs with its reason.
fn read_all(files: &[PathBuf]) -> Result<Vec<Run>, Failure> {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for path in files {
        let file = path.display().to_string();
        match read_limited(path).map(|bytes| bitcost_import::read(&file, &bytes)) {
            Ok(Ok(runs)) => found.extend(runs),
            Ok(Err(why)) => wrong.push(why.0),
            Err(error) => wrong.push(format!("cannot read {file}: {error}")),
        }
    }
    let (count, all) = (wrong.len(), files.len());
    if count == 0 {
        return Ok(found);
    }
    if all > 1 {
        let none = format!("nothing was imported: {count} of {all} files cannot be read");
        wrong.insert(0, none);
    }
    Err(Failure::Usage(wrong.join("\n")))
}

/// Reads the bytes of a file; of a file that is too large, only enough to notice that.
fn read_limited(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(bitcost_import::MOST + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The name of a file without its last ending, and without `.gz`.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = Path::new(name).file_stem().unwrap_or("import".as_ref());
    stem.to_string_lossy().into_owned()
}

/// Keeps letters, digits and a few other characters, so that the name is that of one folder.
fn file_name(name: &str) -> String {
    let is_other = |letter: char| !letter.is_alphanumeric() && !"-_.".contains(letter);
    let mut name = name.replace(is_other, "-");
    while name.len() > 80 {
        name.pop();
    }
    name
}

/// Prints a MiniEdit file as a lab file; comments at its start list what has no counterpart.
fn print_lab(file: &Path) -> Result<(), Failure> {
    let file = file.to_string_lossy();
    let lab = labs::find(&file)?.lab;
    let mut text = format!("# From {}.\n", file.escape_debug());
    let warnings = lab.warnings.iter();
    warnings.for_each(|warning| text += &format!("# {warning}\n"));
    text += "# Ports by the order of links:\n";
    for link in &lab.topology.links {
        text += &format!("#   {} - {}\n", link.ends[0].device, link.ends[1].device);
    }
    output::print(&(text + &to_toml(&lab.topology)))
}
