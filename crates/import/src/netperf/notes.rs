//! Caveats of netperf's runs: its method of counting CPU time, and a confidence level that it did
//! not reach.

use crate::Found;

/// The caveat of CPU figures that netperf measured by its own method.
const OWN_METHOD: &str =
    "CPU use and service demand are netperf's: 1 − idle ÷ the sum of all ticks, of the whole host";

/// Adds the caveat to a run that has CPU figures.
pub(super) fn note(found: &mut Found) {
    if found
        .run
        .figures
        .keys()
        .any(|name| name.contains("cpu") || name.contains("service_demand"))
    {
        found.run.notes.push(OWN_METHOD.to_owned());
    }
}

/// netperf's warning about a test whose results vary by more than was requested; absent for other
/// lines.
fn confidence(line: &str) -> Option<String> {
    let (what, share) = line.trim().strip_prefix("!!!")?.rsplit_once(':')?;
    let what = what
        .trim()
        .strip_prefix("Confidence intervals: ")
        .unwrap_or(what)
        .trim();
    share
        .trim()
        .ends_with('%')
        .then(|| format!("{what} {}", share.trim()))
}

/// The caveat of lines in which netperf prints this warning.
pub(super) fn confidence_note<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let widths: Vec<String> = lines.filter_map(confidence).collect();
    let note = || {
        format!(
            "netperf did not reach the requested confidence: widths {}",
            widths.join(", ")
        )
    };
    (!widths.is_empty()).then(note)
}
