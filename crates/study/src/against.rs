//! A study compared with a variant of itself: every cell runs once unchanged, and once with another
//! setting.
//!
//! The variant is a factor of two levels that is appended to the study's text, so that a log
//! contains all of it.

use toml_edit::Value;

use crate::definition::{Factor, Level, Study};
use crate::settings::set;
use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::host_settings::{HostSetting, OFFLOADS, OffloadSet, Offloads};
use bitcost_model::near::did_you_mean;
use bitcost_model::retired::instead_of;
use bitcost_model::settings::{Kind, find, names};

const BASE: &str = "base";

impl Study {
    /// The study with another value of a setting, or of a group of offloads, as a factor, and with
    /// the comparison of both levels. The value is as typed.
    pub fn against(&self, key: &str, value: &str) -> Result<Study, Invalid> {
        if let Some(compared) = &self.compare {
            return Err(Invalid(format!(
                "the study {} compares levels of `{}` already ([compare]); leave out --against, or that section",
                self.name, compared.factor
            )));
        }
        let (setting, typed) = self.with_setting(key, value)?;
        self.varies_already(key, setting)?;
        let [name, base, other] = [key, BASE, value].map(|text| Value::from(text).to_string());
        let (own, typed) = (self.text.trim_end(), typed.decorated("", ""));
        let text = format!(
            "{own}\n\n[[factor]]\nname = {name}\nlevels = [{{ label = {base} }}, {{ label = {other}, {setting} = {typed} }}]\n\n[compare]\nfactor = {name}\nold = {base}\nnew = {other}\n"
        );
        let file = format!("{}.toml", self.name);
        Ok(Study::parse_with(&file, &text, self.lab_text.as_deref())?)
    }

    /// The setting that is changed, and its value.
    fn with_setting(&self, key: &str, value: &str) -> Result<(&'static str, Value), Invalid> {
        let (setting, typed) = if OffloadSet::GROUPS.contains(&key) {
            ("offloads", Value::from(offloads(&self.base, key, value)?))
        } else {
            let known = || names().chain(OffloadSet::GROUPS);
            let row = find(key).ok_or_else(|| {
                let all: Vec<&str> = known().collect();
                let hint = did_you_mean(key, known());
                let unknown =
                    || format!("unknown setting `{key}`{hint}; allowed: {}", all.join(", "));
                Invalid(instead_of(key).unwrap_or_else(unknown))
            })?;
            (row.name, typed(row.kind, value))
        };
        set(&mut self.base.clone(), setting, &typed)?;
        Ok((setting, typed))
    }

    /// Refuses a study with a factor that sets the same setting: one of the two factors would have
    /// no effect.
    fn varies_already(&self, factor: &str, setting: &str) -> Result<(), Invalid> {
        let sets = |level: &Level| level.settings.iter().any(|(name, _)| name == setting);
        let varies = |known: &&Factor| known.name == factor || known.levels.iter().any(sets);
        let found = self.factors.iter().find(varies);
        let Some(factor) = found else { return Ok(()) };
        let (name, levels) = (&factor.name, &factor.levels);
        let example = match &levels[..] {
            [first, second, ..] => format!(
                ", such as `bitcost compare FOLDER '{}' '{}'`",
                first.label, second.label
            ),
            _ => String::new(),
        };
        Err(Invalid(format!(
            "the study {} varies `{setting}` itself, by its factor `{name}`; run it as it is and compare levels of that{example}",
            self.name
        )))
    }
}

/// The offloads with one group changed, and the others as the study has them.
fn offloads(base: &Conditions, group: &str, value: &str) -> Result<String, Invalid> {
    if !["on", "off"].contains(&value) {
        return Err(Invalid(format!("`{group}` is `{value}`; allowed: on, off")));
    }
    let mut requests = base.host_settings.iter();
    let of_study = requests.find(|request| request.setting.name() == OFFLOADS.setting);
    let others = match of_study.map(|request| (request.endpoint, &request.setting)) {
        None => None,
        Some((None, HostSetting::Offloads(Offloads::Set(OffloadSet::On)))) => Some("on"),
        Some((None, HostSetting::Offloads(Offloads::Set(OffloadSet::Off)))) => Some("off"),
        Some(_) => {
            return Err(Invalid(format!(
                "the study sets `offloads` by features; give all of them: --against offloads='… {group} {value}'"
            )));
        }
    };
    let groups = ["tso", "gso", "gro"]
        .into_iter()
        .filter(|other| *other != group);
    let others = groups.filter_map(|other| Some(format!("{other} {}", others?)));
    Ok(others
        .chain([format!("{group} {value}")])
        .collect::<Vec<_>>()
        .join(", "))
}

/// A value as a study writes it: a number, true or false where the setting takes one, otherwise
/// text.
fn typed(kind: Kind, text: &str) -> Value {
    match (kind, text) {
        (Kind::Switch(_), "on") => return true.into(),
        (Kind::Switch(_), "off") => return false.into(),
        _ => {}
    }
    let read = text.parse::<Value>().ok().filter(|value| {
        value.is_integer()
            || value.is_float()
            || value.is_bool()
            || value.is_array()
            || value.is_inline_table()
    });
    read.unwrap_or_else(|| text.into())
}
