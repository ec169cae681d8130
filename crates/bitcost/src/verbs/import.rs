//! `bitcost import`: files of other programs as an execution that show, report and compare open.

use std::io::Read;
use std::path::{Path, PathBuf};

use bitcost_execute::labs::{self, Options};
use bitcost_execute::store::{StoreError, USUAL_PARENT, Writer, stamped};
use bitcost_import::{Execution, Head, ImportError};
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
    /// For MiniEdit files: turn GRO off at both endpoints of each link with options, as Mininet
    /// does
    #[arg(long)]
    mininet_compat: bool,
}

/// Writes the execution, and says where it is.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let [file] = arguments.files.as_slice()
        && file.extension().is_some_and(|ending| ending == "mn")
    {
        return print_lab(file, arguments.mininet_compat);
    }
    let mut execution = Execution::default();
    let files = read_all(&arguments.files, &mut execution)?;
    let name = arguments.name.clone();
    let name = name.unwrap_or_else(|| name_of(&arguments.files[0]));
    let head = Head {
        name: &name,
        version: env!("CARGO_PKG_VERSION"),
        at: &bitcost_controller::now(),
        command_line: output::command_line(),
    };
    let (folder, [runs, failed]) = write(&arguments.out, &files, execution, head)?;
    let failures = match failed {
        0 => String::new(),
        _ => format!(", {failed} of them without a result"),
    };
    output::say(&format!("{} read{failures}", counted(runs, "run")));
    output::line(&folder.display().to_string())
}

/// A file's name and its content.
type Content = (String, Vec<u8>);

/// Writes the log; of its folder, and of those above it, nothing stays that was not there where that
/// fails. The numbers are of runs, and of those without a result.
fn write(
    parent: &Path,
    files: &[Content],
    mut execution: Execution,
    head: Head,
) -> Result<(PathBuf, [usize; 2]), Failure> {
    let (folder, end) = (stamped(&file_name(head.name)), Execution::end(head.at));
    let began = execution.begin(head);
    check(&began)?;
    let missing = parent.ancestors().take_while(|folder| !folder.exists());
    let missing: Vec<&Path> = missing.collect();
    let written = Writer::create(parent, &folder, 0).and_then(|writer| {
        let folder = writer.folder().to_owned();
        let counts = append(writer, files, execution, (&began, &end)).inspect_err(|_| {
            let _ = std::fs::remove_dir_all(&folder);
        });
        Ok((folder, counts?))
    });
    if written.is_err() {
        let _ = missing.into_iter().try_for_each(std::fs::remove_dir);
    }
    Ok(written?)
}

/// Appends what begins the log, the events of each run, and what ends it. The events of runs are made
/// one by one: all of them would take many times the memory of their files.
fn append(
    mut writer: Writer,
    files: &[Content],
    mut execution: Execution,
    (began, end): (&[Event], &Event),
) -> Result<[usize; 2], StoreError> {
    for event in began {
        writer.append(event)?;
    }
    let mut counts = [0; 2];
    let mut written = Ok(0);
    for (file, bytes) in files {
        // That it can be read is known.
        let _ = bitcost_import::each(file, bytes, &mut |run| {
            for event in execution.events(run) {
                let failed = usize::from(matches!(event, Event::RunFailed { .. }));
                let imported = usize::from(matches!(event, Event::RunImported { .. }));
                counts = [counts[0] + failed + imported, counts[1] + failed];
                if written.is_ok() {
                    written = writer.append(&event);
                }
            }
        });
    }
    written?;
    writer.append(end)?;
    Ok(counts)
}

/// Refuses files that together make a larger study than is read.
fn check(began: &[Event]) -> Result<(), Failure> {
    let Some(Event::ExecutionBegan { study_text, .. }) = began.first() else {
        return Ok(());
    };
    let too_much = "nothing was imported: these files are too much for one study";
    let read = Study::parse("these files", study_text);
    read.map(drop)
        .map_err(|error| Failure::Usage(format!("{too_much}: {}", error.message)))
}

/// The content of all files, whose runs are shown to the execution, or an error that names every file
/// without runs with its reason.
fn read_all(files: &[PathBuf], execution: &mut Execution) -> Result<Vec<Content>, Failure> {
    let (mut found, mut wrong, mut has_unknown) = (Vec::new(), Vec::new(), false);
    for path in files {
        let file = path.display().to_string();
        let bytes = match read_limited(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                wrong.push(format!("cannot read {file}: {error}"));
                continue;
            }
        };
        match bitcost_import::each(&file, &bytes, &mut |run| execution.show(&run)) {
            Ok(()) => found.push((file, bytes)),
            Err(error) => {
                has_unknown |= matches!(error, ImportError::Unknown { .. });
                wrong.push(error.to_string());
            }
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
    if has_unknown {
        let known = bitcost_import::known();
        wrong.push(format!("supported: the outputs of {known}"));
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
fn print_lab(file: &Path, mininet_compat: bool) -> Result<(), Failure> {
    let file = file.to_string_lossy();
    let lab = labs::find(&file, Options { mininet_compat })?.lab;
    let mut text = format!("# From {}.\n", file.escape_debug());
    let warnings = lab.warnings.iter();
    warnings.for_each(|warning| text += &format!("# {warning}\n"));
    let commands = lab.commands.iter();
    commands.for_each(|command| text += &format!("# never run: {command}\n"));
    text += "# Ports by the order of links:\n";
    for link in &lab.topology.links {
        text += &format!("#   {} - {}\n", link.ends[0].device, link.ends[1].device);
    }
    output::print(&(text + &to_toml(&lab.topology)))
}
