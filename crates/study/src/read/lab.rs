//! The place of a study that names no hosts: the embedded lab, and the hosts of it that play the
//! endpoints.

use bitcost_model::study::{LabSpec, OWN};

use super::mistakes::Mistakes;
use crate::error::StudyError;
use crate::keys::LAB;
use crate::section::Section;
use crate::topology;

/// The preset of studies that name none.
const USUAL: &str = "wire";

/// Reads a study's `[lab]`; a study without one has the default lab. `lab_text` is that of the lab file that it names.
pub fn lab(found: &mut Mistakes, top: &Section, lab_text: Option<&str>) -> Option<LabSpec> {
    let section = found.take(top.section("lab"))?;
    found.extend(section.iter().flat_map(|lab| lab.unknown(&LAB.names())));
    let empty = toml_edit::Table::new();
    let section = section.unwrap_or(Section {
        source: top.source,
        name: "lab".to_owned(),
        table: &empty,
        span: None,
    });
    found.take(known(&section, lab_text))
}

fn known(section: &Section, lab_text: Option<&str>) -> Result<LabSpec, StudyError> {
    let is_own = section.table.contains_key("hosts");
    let name = section.text("topology")?;
    let usual = (!is_own).then_some(USUAL);
    let network = topology::read_from(section, usual, lab_text)?;
    let name = name.unwrap_or_else(|| usual.unwrap_or(OWN).to_owned());
    let (sender, receiver) = (section.text("sender")?, section.text("receiver")?);
    LabSpec::new(&name, network, sender, receiver).map_err(|message| section.error(message))
}
