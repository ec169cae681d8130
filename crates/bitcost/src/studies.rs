//! The studies that are part of the program, and those that a path names.

use std::path::Path;

use bitcost_analysis::metrics::METRICS;
use bitcost_execute::files;
use bitcost_model::near::did_you_mean;
use bitcost_study::Study;

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
];

/// The study that the user names: one of the embedded ones, or a file.
///
/// # Errors
/// Usage, with the file and the line of what is wrong with it.
pub fn find(name: &str) -> Result<Study, Failure> {
    if let Some((name, text)) = EMBEDDED.iter().find(|(known, _)| *known == name) {
        return parse(&format!("studies/{name}.toml"), text);
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
    parse(name, &text)
}

fn parse(file: &str, text: &str) -> Result<Study, Failure> {
    let metrics: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
    let study = Study::parse(file, text)
        .and_then(|study| study.check_metrics(file, &metrics).map(|()| study));
    study.map_err(|first| {
        let all = Study::mistakes(file, text, &metrics);
        let lines: Vec<String> = all.iter().map(ToString::to_string).collect();
        let all = if lines.is_empty() {
            first.to_string()
        } else {
            lines.join("\n")
        };
        Failure::Usage(all)
    })
}
