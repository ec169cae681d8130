//! The studies that are part of the program, and those that a path names.

use std::path::Path;

use bitcost_analysis::metrics::METRICS;
use bitcost_execute::{files, labs};
use bitcost_model::near::did_you_mean;
use bitcost_study::Study;
use bitcost_study::mesh::{MeshFiles, with_hosts};

use crate::failure::Failure;

/// Name and text of every embedded study.
pub const EMBEDDED: &[(&str, &str)] = &[
    (
        "not-all-mbits",
        include_str!("../studies/not-all-mbits.toml"),
    ),
    (
        "packets-per-second",
        include_str!("../studies/packets-per-second.toml"),
    ),
    (
        "constant-rate",
        include_str!("../studies/constant-rate.toml"),
    ),
    ("offload-lab", include_str!("../studies/offload-lab.toml")),
    (
        "offload-lab-counted",
        include_str!("../studies/offload-lab-counted.toml"),
    ),
    ("lab15", include_str!("../studies/lab15.toml")),
    ("backpressure", include_str!("../studies/backpressure.toml")),
    (
        "backpressure-wire",
        include_str!("../studies/backpressure-wire.toml"),
    ),
];

/// The study that the user names: one of the embedded ones, or a file.
///
/// # Errors
/// Usage, with the file and the line of what is wrong with it.
pub fn find(name: &str) -> Result<Study, Failure> {
    if let Some((name, text)) = EMBEDDED.iter().find(|(known, _)| *known == name) {
        return parse(&format!("studies/{name}.toml"), text, None);
    }
    if !name.contains('/')
        && Path::new(name)
            .extension()
            .is_none_or(|ending| ending != "toml")
    {
        let names = EMBEDDED.iter().map(|(name, _)| *name);
        let hint = did_you_mean(name, names.clone());
        let all: Vec<&str> = names.collect();
        let allowed = all.join(", ");
        return Err(Failure::Usage(format!(
            "unknown study `{name}`{hint}; allowed: {allowed}, or the path of a .toml file"
        )));
    }
    let text = files::text(Path::new(name)).map_err(|error| {
        Failure::Usage(format!(
            "cannot read the study {name}: {error}; `bitcost studies` lists the embedded ones"
        ))
    })?;
    let lab_text = Study::lab_file(&text)
        .map(|lab| lab_text(name, &text, &lab))
        .transpose()?;
    let text = match MeshFiles::of(&text) {
        Some(files) if files != MeshFiles::default() => mesh_text(name, &text, &files)?,
        _ => text,
    };
    parse(name, &text, lab_text.as_deref())
}

/// The text of a study with the hosts and pairs of the files that its mesh names, which are relative to the study's
/// folder.
fn mesh_text(study: &str, text: &str, named: &MeshFiles) -> Result<String, Failure> {
    let folder = Path::new(study).parent().unwrap_or(Path::new(""));
    let read = |file: &String| lines(&folder.join(file));
    let hosts = named.hosts.as_ref().map(read).transpose()?;
    let pairs = named.pairs.as_ref().map(read).transpose()?;
    let whole = with_hosts(text, hosts.as_deref(), pairs.as_deref());
    whole.map_err(|why| Failure::Usage(format!("{study}: {why}")))
}

/// The text of a file of hosts or pairs.
///
/// # Errors
/// Usage, when it cannot be read.
pub fn lines(file: &Path) -> Result<String, Failure> {
    let shown = file.display();
    files::text(file).map_err(|error| Failure::Usage(format!("cannot read {shown}: {error}")))
}

/// A study whose mesh has these hosts, a line each, instead of those that it names.
///
/// # Errors
/// Usage, when it has no mesh, or its pairs are of other hosts.
pub fn between(study: &Study, hosts: &str) -> Result<Study, Failure> {
    let text = with_hosts(&study.text, Some(hosts), None);
    let text = text.map_err(|why| Failure::Usage(format!("{}: {why}", study.file)))?;
    parse(&study.file, &text, study.lab_text.as_deref())
}

/// The text of the lab file that a study names, which is relative to the study's folder.
fn lab_text(study: &str, text: &str, lab: &str) -> Result<String, Failure> {
    let folder = Path::new(study).parent().unwrap_or(Path::new(""));
    labs::file_text(&folder.join(lab)).map_err(|error| {
        let place = Study::lab_error(study, text, &error.to_string());
        Failure::Usage(place.to_string())
    })
}

fn parse(file: &str, text: &str, lab_text: Option<&str>) -> Result<Study, Failure> {
    let metrics: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let study = Study::parse_with(file, text, lab_text)
        .and_then(|study| study.check_metrics(file, &metrics).map(|()| study));
    study.map_err(|first| {
        let all = Study::mistakes(file, text, lab_text, &metrics);
        let lines: Vec<String> = all.iter().map(ToString::to_string).collect();
        let all = if lines.is_empty() {
            first.to_string()
        } else {
            lines.join("\n")
        };
        Failure::Usage(all)
    })
}
