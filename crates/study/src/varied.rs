//! What varies a run that options describe.

use std::fmt::Write as _;

use bitcost_model::conditions::Workload;

use crate::settings::{Kind, Setting, background_to_toml};

/// What varies the run: the study has one cell for each combination of its levels.
pub struct Varied {
    /// The study's name.
    pub name: String,
    /// The command that makes it.
    pub title: String,
    /// The question that it answers.
    pub question: &'static str,
    /// Its factors, and the combinations that it leaves out, as text of a study.
    pub factors: String,
}

impl Varied {
    /// One factor whose first level changes nothing, and whose other levels have these settings, as they are typed.
    pub fn one_factor(
        workload: Workload,
        (name, question): (&str, &'static str),
        (factor, unchanged): (&str, &str),
        levels: &[(String, Vec<(&'static Setting, String)>)],
    ) -> Varied {
        let quoted = |text: &str| toml_edit::Value::from(text).to_string();
        let mut factors = format!(
            "\n[[factor]]\nname = {}\nlevels = [\n  {{ label = {} }},\n",
            quoted(factor),
            quoted(unchanged)
        );
        for (label, settings) in levels {
            let _ = write!(factors, "  {{ label = {}", quoted(label));
            for (setting, value) in settings {
                let value = match setting.kind {
                    Kind::Background => format!("[{}]", background_to_toml(value)),
                    kind => kind.to_toml(value),
                };
                let _ = write!(factors, ", {} = {value}", setting.name);
            }
            factors += " },\n";
        }
        let test = workload.info().short_name;
        Varied {
            name: format!("test-{test}-{name}"),
            title: format!("bitcost test {test}"),
            question,
            factors: factors + "]\n",
        }
    }
}
