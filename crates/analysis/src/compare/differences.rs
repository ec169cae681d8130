//! What differs between two values of any shape: their plain values by their paths.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

/// Endings of names that are units, each with the unit as it is written after a number.
const UNITS: [(&str, &str); 5] = [
    (" us", "µs"),
    (" bytes", "B"),
    (" bps", "bit/s"),
    (" pct", "%"),
    (" ms", "ms"),
];

/// One sentence per plain value that differs, in the order of their paths.
pub(super) fn differences(place: &str, old: &Json, new: &Json) -> Vec<String> {
    let (mut was, mut is) = (BTreeMap::new(), BTreeMap::new());
    leaves(place, old, new, &mut was);
    leaves(place, new, old, &mut is);
    let places: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let both = places
        .into_iter()
        .map(|place| (place, was.get(place), is.get(place)));
    let differing = both.filter(|(_, was, is)| was != is);
    differing
        .map(|(place, was, is)| sentence(place, was, is))
        .collect()
}

/// `delay: was 0 µs, is 20000 µs`.
fn sentence(place: &str, was: Option<&Json>, is: Option<&Json>) -> String {
    let mut units = UNITS.into_iter();
    let unit = units.find_map(|(ending, unit)| Some((place.strip_suffix(ending)?, unit)));
    let (name, unit) = unit.unwrap_or((place, ""));
    let words = |value: Option<&Json>| match value {
        None => "absent".to_owned(),
        Some(Json::String(words)) => words.clone(),
        Some(Json::Number(number)) if unit == "ms" && number.as_f64() >= Some(1000.0) => {
            format!("{} s", number.as_f64().unwrap_or_default() / 1000.0)
        }
        Some(Json::Number(number)) if !unit.is_empty() => format!("{number} {unit}"),
        Some(plain) => plain.to_string(),
    };
    format!("{name}: was {}, is {}", words(was), words(is))
}

/// The plain values in `value` by their paths. A part that the other side lacks entirely is one
/// value.
fn leaves(place: &str, value: &Json, other: &Json, found: &mut BTreeMap<String, Json>) {
    let mut within = |name: &str, value: &Json, other: Option<&Json>| {
        let place = format!("{place} {name}");
        leaves(
            place.trim_start(),
            value,
            other.unwrap_or(&Json::Null),
            found,
        );
    };
    match (value, other) {
        (Json::Null, _) => {}
        (Json::Object(fields), Json::Object(others)) => {
            for (name, value) in fields {
                within(&name.replace('_', " "), value, others.get(name));
            }
        }
        (Json::Array(items), Json::Array(others)) => {
            for (number, value) in items.iter().enumerate() {
                within(&(number + 1).to_string(), value, others.get(number));
            }
        }
        (Json::Object(fields), Json::Null) if fields.len() == 1 => {
            for (name, value) in fields {
                within(name, value, None);
            }
        }
        (Json::Object(_) | Json::Array(_), Json::Null) => {
            found.insert(place.to_owned(), "present".into());
        }
        (Json::Object(_) | Json::Array(_), _) => {
            found.insert(place.to_owned(), "of another kind".into());
        }
        (plain, _) => {
            found.insert(place.to_owned(), plain.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::differences;

    #[test]
    fn only_what_differs_is_named_by_its_place() {
        let link = |delay: u64| json!({ "ends": [{ "delay_us": 0 }, { "delay_us": delay }], "mtu_bytes": 1500 });
        let lab = |delay: u64| json!({ "topology": "pair", "network": { "links": [link(delay)] } });
        assert_eq!(differences("lab", &lab(0), &lab(0)), [""; 0]);
        assert_eq!(
            differences("lab", &lab(0), &lab(20_000)),
            ["lab network links 1 ends 2 delay: was 0 µs, is 20000 µs"]
        );
        let none = json!({ "topology": "pair", "network": null });
        assert_eq!(
            differences("lab", &none, &lab(0)),
            ["lab network links: was absent, is present"]
        );
        assert_eq!(
            differences("lab", &lab(0), &json!(null)),
            ["lab: was present, is absent"]
        );
        assert_eq!(
            differences("mss", &json!(null), &json!({ "bytes": 536 })),
            ["mss: was absent, is 536 B"]
        );
        let run = |ms: u64, mode: &str| json!({ "duration_ms": ms, "mode": mode });
        assert_eq!(
            differences("", &run(2000, "zero copy"), &run(500, "copy")),
            [
                "duration: was 2 s, is 500 ms",
                "mode: was zero copy, is copy"
            ]
        );
    }
}
