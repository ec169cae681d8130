//! Reading `[workload]`: the settings that all cells share.

use bitcost_model::conditions::Conditions;
use toml_edit::Value;

use super::mistakes::Mistakes;
use crate::section::Section;
use crate::settings;

/// The settings that all cells share, except for the setting `without` and for those that are wrong, which are mistakes.
pub fn workload(found: &mut Mistakes, top: &Section, without: Option<&str>) -> Conditions {
    let mut conditions = Conditions::default();
    let Some(section) = found.take(top.section("workload")).flatten() else {
        return conditions;
    };
    let keys = section.table.iter();
    for (key, item) in keys.filter(|(key, _)| Some(*key) != without) {
        // [[workload.background]] is an equivalent list of tables.
        let tables = item.as_array_of_tables();
        let tables = tables.map(|tables| Value::Array(tables.clone().into_array()));
        let value = match &tables {
            Some(tables) => Some(tables),
            None => found.take(section.value(key)).flatten(),
        };
        if let Some(value) = value {
            let set = settings::set(&mut conditions, key, value);
            found.take(set.map_err(|message| section.error_at(key, message)));
        }
    }
    conditions
}
