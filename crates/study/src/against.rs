//! A study compared with a variant of itself: every cell runs once unchanged, and once with another
//! setting.
//!
//! The variant is a factor of two levels that is appended to the study's text, so that a log
//! contains all of it.

use toml_edit::Value;

use crate::definition::Study;
use crate::settings::{self, Kind};
use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::host_settings;
use bitcost_model::near::did_you_mean;

/// The level of the unchanged study.
const BASE: &str = "base";

/// Groups of offloads that are named like a setting.
const OFFLOAD_GROUPS: [&str; 4] = ["tso", "gso", "gro", "lro"];

/// The factor of the variant, as its lines are written.
struct Variant {
    factor: String,
    /// The value as typed, which names the level.
    label: String,
    setting: &'static str,
    value: Value,
}

impl Study {
    /// The study with another value of a setting, or of a group of offloads, as a factor, and with
    /// the comparison of both levels. The value is as typed.
    ///
    /// # Errors
    /// A sentence that says what was found and what is allowed, with near matches.
    pub fn against(&self, key: &str, value: &str) -> Result<Study, Invalid> {
        if let Some(compared) = &self.compare {
            return Err(Invalid(format!(
                "the study {} compares levels of `{}` already ([compare]); leave out --against, or that section",
                self.name, compared.factor
            )));
        }
        let variant = self.with_setting(key, value)?;
        self.varies_already(&variant)?;
        let text = format!("{}\n{}", self.text.trim_end(), variant.text());
        let file = format!("{}.toml", self.name);
        Ok(Study::parse_with(&file, &text, self.lab_text.as_deref())?)
    }

    fn with_setting(&self, key: &str, value: &str) -> Result<Variant, Invalid> {
        let (setting, typed) = if OFFLOAD_GROUPS.contains(&key) {
            ("offloads", Value::from(offloads(&self.base, key, value)?))
        } else {
            let known = || settings::names().chain(OFFLOAD_GROUPS);
            let row = settings::find(key).ok_or_else(|| {
                let all: Vec<&str> = known().collect();
                let hint = did_you_mean(key, known());
                Invalid(format!(
                    "unknown setting `{key}`{hint}; allowed: {}",
                    all.join(", ")
                ))
            })?;
            (row.name, typed(row.kind, value))
        };
        settings::set(&mut self.base.clone(), setting, &typed)?;
        Ok(Variant {
            factor: key.to_owned(),
            label: value.to_owned(),
            setting,
            value: typed,
        })
    }

    /// Refuses a study with a factor that sets the same setting: one of the two factors would have
    /// no effect.
    fn varies_already(&self, variant: &Variant) -> Result<(), Invalid> {
        let sets = |setting: &str| setting == variant.setting;
        let of = |name: &str| name == variant.factor;
        let found = self.factors.iter().find(|factor| {
            of(&factor.name)
                || factor
                    .levels
                    .iter()
                    .any(|level| level.settings.iter().any(|(setting, _)| sets(setting)))
        });
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
            "the study {} varies `{}` itself, by its factor `{name}`; run it as it is and compare levels of that{example}",
            self.name, variant.setting
        )))
    }
}

/// The offloads with one group changed, and the others as the study has them.
fn offloads(base: &Conditions, group: &str, value: &str) -> Result<String, Invalid> {
    if !["on", "off"].contains(&value) {
        return Err(Invalid(format!("`{group}` is `{value}`; allowed: on, off")));
    }
    if base
        .host_settings
        .iter()
        .any(|request| request.setting == host_settings::OFFLOADS)
    {
        return Err(Invalid(format!(
            "the study sets `offloads` by features; give all of them: --against offloads='… {group} {value}'"
        )));
    }
    let others = base.offloads.set();
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

impl Variant {
    /// The lines that are appended to a study.
    fn text(&self) -> String {
        let quoted = |text: &str| Value::from(text).to_string();
        let (name, base, other) = (quoted(&self.factor), quoted(BASE), quoted(&self.label));
        let (setting, value) = (self.setting, self.value.clone().decorated("", ""));
        format!(
            "\n[[factor]]\nname = {name}\nlevels = [{{ label = {base} }}, {{ label = {other}, {setting} = {value} }}]\n\n[compare]\nfactor = {name}\nold = {base}\nnew = {other}\n"
        )
    }
}
