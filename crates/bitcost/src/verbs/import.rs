//! `bitcost import`: files of other programs as an execution that show, report and compare open.

use std::path::PathBuf;

use import::{Found, Head};
use store::Writer;

use super::import_lab;
use crate::failure::Failure;
use crate::output;

/// Which files, and where to.
#[derive(clap::Args)]
pub struct Arguments {
    /// Outputs of netperf (for people, -o, -k), iperf3 (-J, --json-stream), nuttcp, nttcp, flent, or tables made from them as CSV; or one MiniEdit file (.mn), which is printed as a lab file
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The folder that gets a folder for this execution
    #[arg(long, value_name = "FOLDER", default_value = "bitcost-runs")]
    out: PathBuf,
    /// The execution's name [default: that of the first file]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Of a MiniEdit file: turn GRO off where Mininet does, at both ends of each link with options
    #[arg(long)]
    mininet_compat: bool,
}

/// Writes the execution, and says where it is.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let [file] = arguments.files.as_slice()
        && import_lab::is_one(file)
    {
        return import_lab::print(file, arguments.mininet_compat);
    }
    let mut found: Vec<Found> = Vec::new();
    for path in &arguments.files {
        let file = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| Failure::Usage(format!("cannot read {file}: {error}")))?;
        found.extend(import::read(&file, &bytes).map_err(|error| Failure::Usage(error.to_string()))?);
    }
    let name = arguments.name.clone().unwrap_or_else(|| name_of(&arguments.files[0]));
    let (runs, failed) = (found.len(), found.iter().filter(|found| found.error.is_some()).count());
    let head = Head {
        name: &name,
        version: env!("CARGO_PKG_VERSION"),
        at: &drive::now(),
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    let events = import::execution(found, head);
    let stamp = jiff::Zoned::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let mut writer = Writer::create(&arguments.out, &format!("{stamp}-{}", file_name(&name)), 0)?;
    events.iter().try_for_each(|event| writer.append(event))?;
    let failures = if failed > 0 { format!(", {failed} of them without a result") } else { String::new() };
    output::say(&format!("{runs} runs read{failures}"));
    output::line(&writer.folder().display().to_string())
}

fn name_of(path: &std::path::Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.split('.').find(|part| !part.is_empty()).unwrap_or("import").to_owned()
}

/// Letters, digits and a few others, so that the name is one folder.
fn file_name(name: &str) -> String {
    let safe = |letter: char| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '-' };
    name.chars().map(safe).take(80).collect()
}
