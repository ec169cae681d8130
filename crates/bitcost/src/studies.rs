//! The studies that are part of the program, and those that a path names.

use std::path::Path;

use bitcost_analysis::metrics::METRICS;
use bitcost_execute::{files, labs};
use bitcost_model::near::near_or_all;
use bitcost_study::Study;
use bitcost_study::mesh::{MeshFiles, with_hosts};
use bitcost_study::topology::LabFile;

use crate::failure::Failure;
use crate::output;

macro_rules! embedded {
    ($($name:literal)+) => {
        &[$(($name, include_str!(concat!("../studies/", $name, ".toml")))),+]
    };
}

/// Name and text of every embedded study.
pub const EMBEDDED: &[(&str, &str)] = embedded! {
    "not-all-mbits" "packets-per-second" "constant-rate"
    "offload-lab" "offload-lab-counted" "lab15"
    "backpressure" "backpressure-wire" "moderation"
};

/// The study that the user names: one of the embedded ones, or a file; with these hosts of its
/// mesh, a line each, instead of those that it names.
pub fn find(name: &str, hosts: Option<&str>) -> Result<Study, Failure> {
    let whole = |text: &str, hosts: Option<&str>, pairs: Option<&str>| {
        let whole = with_hosts(text, hosts, pairs);
        whole.map_err(|why| Failure::Usage(format!("{name}: {why}")))
    };
    if let Some((known, text)) = EMBEDDED.iter().find(|(known, _)| *known == name) {
        let text = match hosts {
            Some(_) => whole(text, hosts, None)?,
            None => (*text).to_owned(),
        };
        return parse(&format!("studies/{known}.toml"), &text, None);
    }
    if !name.contains('/')
        && Path::new(name)
            .extension()
            .is_none_or(|ending| ending != "toml")
    {
        let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
        let rest = near_or_all(name, &names);
        return Err(Failure::Usage(format!(
            "unknown study `{name}`{rest}, or the path of a .toml file"
        )));
    }
    let text = files::text(Path::new(name)).map_err(|error| {
        Failure::Usage(format!(
            "cannot read the study {name}: {error}; `bitcost studies` lists the embedded ones"
        ))
    })?;
    // The files of hosts and pairs that its mesh names are relative to its folder.
    let files = MeshFiles::of(&text).unwrap_or_default();
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let read = |file: Option<String>| file.map(|file| lines(&folder.join(file))).transpose();
    let own = read(files.hosts.filter(|_| hosts.is_none()))?;
    let (hosts, pairs) = (hosts.or(own.as_deref()), read(files.pairs)?);
    let text = match hosts.is_some() || pairs.is_some() {
        true => whole(&text, hosts, pairs.as_deref())?,
        false => text,
    };
    // So is its lab file.
    let lab = |lab: &str| {
        let text = labs::file_text(&folder.join(lab), output::say);
        text.map_err(|error| error.to_string())
    };
    parse(name, &text, Some(&lab))
}

/// The text of a file of hosts or pairs.
pub fn lines(file: &Path) -> Result<String, Failure> {
    let shown = file.display();
    files::text(file).map_err(|error| Failure::Usage(format!("cannot read {shown}: {error}")))
}

fn parse(file: &str, text: &str, lab: Option<LabFile>) -> Result<Study, Failure> {
    let metrics: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let study = Study::read(file, text, lab, Some(&metrics));
    study.map_err(|mistakes| {
        let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Failure::Usage(lines.join("\n"))
    })
}
