//! A study compared with a variant of itself: every cell runs once unchanged, and once with other settings.
//!
//! The variant is a factor of two levels that is appended to the study's text, so that a log
//! contains all of it.

use bitcost_model::Invalid;
use bitcost_model::settings::Setting;
use toml_edit::{InlineTable, Value};

use crate::definition::{Factor, Level, Study};
use crate::single::write_settings;

/// The name of the factor, and of its level without the variant.
const FACTOR: &str = "options";
const BASE: &str = "base";

impl Study {
    /// The study with other values of settings as a factor, and with the comparison of both levels. The values are as
    /// typed, and `label` is what the user calls the variant.
    pub fn against(
        &self,
        label: &str,
        settings: &[(&'static Setting, String)],
    ) -> Result<Study, Invalid> {
        if let Some(compared) = &self.compare {
            return Err(Invalid(format!(
                "the study {} compares levels of `{}` already ([compare]); leave out --against, or that section",
                self.name, compared.factor
            )));
        }
        let mut varied = self.base.clone();
        for (setting, typed) in settings {
            self.varies_already(setting.name)?;
            let refused = |why| Invalid(format!("`{}`: {why}", setting.name));
            setting.set_text(&mut varied, typed).map_err(refused)?;
        }
        let mut level = InlineTable::from_iter([("label", label)]);
        write_settings(&mut level, settings, &varied);
        let [name, base, label] = [FACTOR, BASE, label].map(|text| Value::from(text).to_string());
        let own = self.text.trim_end();
        let text = format!(
            "{own}\n\n[[factor]]\nname = {name}\nlevels = [{{ label = {base} }}, {level}]\n\n[compare]\nfactor = {name}\nold = {base}\nnew = {label}\n"
        );
        let file = format!("{}.toml", self.name);
        Ok(Study::parse_with(&file, &text, self.lab_text.as_deref())?)
    }

    /// Refuses a study with a factor that sets the same setting: one of the two factors would have
    /// no effect.
    fn varies_already(&self, setting: &str) -> Result<(), Invalid> {
        let sets = |level: &Level| level.settings.iter().any(|(name, _)| name == setting);
        let varies = |known: &&Factor| known.levels.iter().any(sets);
        let found = self.factors.iter().find(varies);
        let Some(factor) = found else { return Ok(()) };
        Err(Invalid(format!(
            "the study {} varies `{setting}` itself, by its factor `{}`; run it as it is, or name two levels of that in its [compare]",
            self.name, factor.name
        )))
    }
}
