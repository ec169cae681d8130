//! Reading `[workload]`: the settings that all cells share.

use bitcost_model::conditions::Conditions;
use toml_edit::Value;

use crate::error::StudyError;
use crate::section::Section;
use crate::settings;

/// The settings that all cells share, except for the setting `without`.
pub fn workload(top: &Section, without: Option<&str>) -> Result<Conditions, StudyError> {
    let mut conditions = Conditions::default();
    let Some(section) = top.section("workload")? else {
        return Ok(conditions);
    };
    for (key, item) in section
        .table
        .iter()
        .filter(|(key, _)| Some(*key) != without)
    {
        // [[workload.background]] is an equivalent list of tables.
        let tables = item
            .as_array_of_tables()
            .map(|tables| Value::Array(tables.clone().into_array()));
        let value = if let Some(tables) = &tables {
            Some(tables)
        } else {
            section.value(key)?
        };
        if let Some(value) = value {
            settings::set(&mut conditions, key, value)
                .map_err(|message| section.error_at(key, message))?;
        }
    }
    Ok(conditions)
}
