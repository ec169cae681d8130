//! The labs that a user can name: the embedded ones, lab files, and MiniEdit's files.

use std::path::Path;

use bitcost_import::miniedit::{self, Imported};
use bitcost_model::Invalid;
use bitcost_model::study::LabSpec;
use bitcost_study::limits::{LAB_BYTES, check_text};
use bitcost_study::topology::{OR_FILE, Preset, is_file, parse, to_toml};

use crate::error::ExecuteError;
use crate::files;

pub struct NamedLab {
    /// The preset's name, or the file's without its extension.
    pub name: String,
    pub lab: Imported,
}

/// The lab that the user names: an embedded one, a lab file, or a file of MiniEdit.
pub fn find(name: &str) -> Result<NamedLab, ExecuteError> {
    if !is_file(name) {
        let preset = Preset::named(name);
        let preset = preset.map_err(|Invalid(why)| ExecuteError::Usage(why + OR_FILE));
        return read_lab(name, &format!("labs/{name}.toml"), preset?.text);
    }
    let text = files::text(Path::new(name)).map_err(|error| {
        ExecuteError::Usage(format!(
            "cannot read the lab {name}: {error}; `bitcost lab presets` lists the embedded ones"
        ))
    })?;
    let stem = Path::new(name)
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    if !name.ends_with(".mn") {
        return read_lab(&stem, name, &text);
    }
    let lab = imported(name, &text)?;
    Ok(NamedLab { name: stem, lab })
}

fn read_lab(name: &str, file: &str, text: &str) -> Result<NamedLab, ExecuteError> {
    let topology = parse(file, text).map_err(|error| ExecuteError::Usage(error.to_string()))?;
    Ok(NamedLab {
        name: name.to_owned(),
        lab: Imported {
            topology,
            warnings: Vec::new(),
        },
    })
}

/// Says with `say` what was not imported as it is in the file.
pub fn warn(warnings: &[String], say: fn(&str)) {
    warnings
        .iter()
        .for_each(|warning| say(&format!("warning: {warning}")));
}

/// The text of the lab file that a study names, as a lab file of bitcost; `path` is where it is.
pub fn file_text(path: &Path, say: fn(&str)) -> Result<String, ExecuteError> {
    let shown = path.display();
    let text = files::text(path)
        .map_err(|error| ExecuteError::Usage(format!("cannot read the lab {shown}: {error}")))?;
    if path.extension().is_none_or(|ending| ending != "mn") {
        return Ok(text);
    }
    let lab = imported(&shown.to_string(), &text)?;
    warn(&lab.warnings, say);
    Ok(to_toml(&lab.topology))
}

fn imported(name: &str, text: &str) -> Result<Imported, ExecuteError> {
    let lab = check_text(text, LAB_BYTES).and_then(|()| miniedit::import(text));
    lab.map_err(|why| ExecuteError::Usage(format!("{name}: {why}")))
}

/// The lab of `bitcost test`, with the MTU of all its links changed if the user requests one.
pub fn spec(name: &str, mtu_bytes: Option<u32>, say: fn(&str)) -> Result<LabSpec, ExecuteError> {
    let usage = |why: String| ExecuteError::Usage(format!("{name}: {why}"));
    let lab = find(name)?.lab;
    warn(&lab.warnings, say);
    let mut topology = lab.topology;
    if let Some(mtu_bytes) = mtu_bytes {
        topology
            .links
            .iter_mut()
            .for_each(|link| link.mtu_bytes = mtu_bytes);
        topology.check().map_err(|problem| usage(problem.message))?;
    }
    LabSpec::new(name, topology, None, None).map_err(|why| usage(why.0))
}
