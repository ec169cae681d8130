//! netperf's outputs: columns for people, comma-separated values, and `SELECTOR=value`.

pub(crate) mod csv;
pub(crate) mod human;
pub(crate) mod keyval;

use model::study::Label;

use crate::Found;

/// What the line over a result says: the test's name.
fn banner(line: &str) -> Option<String> {
    let line = line.trim_start_matches("MIGRATED ");
    let (name, _) = line.split_once(" TEST from ").or_else(|| line.split_once(" TEST to "))?;
    let is_name = name
        .split(' ')
        .all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/_".contains(c)));
    is_name.then(|| name.replace(['/', ' '], "_").to_ascii_lowercase().replace("request_response", "rr"))
}

fn test(found: &mut Found, name: &str) {
    found.level("test", Label::Text(name.to_owned()));
}

/// Whose CPU figures they are.
const OWN_METHOD: &str = "CPU use and service demand are netperf's: 1 − idle ÷ the sum of all ticks, of the whole host";

/// Said of a run that has CPU figures.
pub(crate) fn note(found: &mut Found) {
    if found.run.figures.keys().any(|name| name.contains("cpu") || name.contains("service_demand")) {
        found.run.notes.push(OWN_METHOD.to_owned());
    }
}
