//! What differs between the hosts and labs of two executions, in words.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::frame::Execution;

/// Differences of labs that are told one by one.
const TOLD: usize = 8;

/// What differs, end by end; of labs first.
pub(super) fn host_differences(old: &Execution, new: &Execution) -> Vec<String> {
    let mut found = lab_differences(&serde_json::json!(old.summary.lab), &serde_json::json!(new.summary.lab));
    for was in &old.summary.ends {
        let Some(is) = new.summary.ends.iter().find(|end| end.role == was.role) else { continue };
        let role = was.role.name();
        found.extend(is.host.differences(&was.host).into_iter().map(|words| format!("{role}: {words}")));
    }
    found
}

/// One sentence per value that differs, named by where it stands.
fn lab_differences(old: &Json, new: &Json) -> Vec<String> {
    let (mut was, mut is) = (BTreeMap::new(), BTreeMap::new());
    leaves("lab", old, new, &mut was);
    leaves("lab", new, old, &mut is);
    let mut places: Vec<&String> = was.keys().chain(is.keys()).collect();
    places.sort();
    places.dedup();
    places.retain(|place| was.get(*place) != is.get(*place));
    let shown = |value: Option<&String>| value.map_or("absent", String::as_str).to_owned();
    let words = |place: &&String| format!("{place}: was {}, is {}", shown(was.get(*place)), shown(is.get(*place)));
    let mut found: Vec<String> = places.iter().take(TOLD).map(words).collect();
    if places.len() > TOLD {
        found.push(format!("lab: {} more differences", places.len() - TOLD));
    }
    found
}

/// The plain values in `value` by where they stand. What the other side lacks as a whole is one value.
fn leaves(place: &str, value: &Json, other: &Json, found: &mut BTreeMap<String, String>) {
    let absent = |other: &Json| if other.is_null() { "present".to_owned() } else { "of another kind".to_owned() };
    match (value, other) {
        (Json::Null, _) => {}
        (Json::Object(fields), Json::Object(others)) => {
            for (name, value) in fields {
                let other = others.get(name).unwrap_or(&Json::Null);
                leaves(&format!("{place} {}", name.replace('_', " ")), value, other, found);
            }
        }
        (Json::Array(items), Json::Array(others)) => {
            for (number, value) in items.iter().enumerate() {
                let other = others.get(number).unwrap_or(&Json::Null);
                leaves(&format!("{place} {}", number + 1), value, other, found);
            }
        }
        (Json::Object(_) | Json::Array(_), other) => {
            found.insert(place.to_owned(), absent(other));
        }
        (Json::String(words), _) => {
            found.insert(place.to_owned(), words.clone());
        }
        (plain, _) => {
            found.insert(place.to_owned(), plain.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::lab_differences;

    #[test]
    fn only_what_differs_is_named_by_its_place() {
        let link = |delay: u64| json!({ "ends": [{ "delay_us": 0 }, { "delay_us": delay }], "mtu_bytes": 1500 });
        let lab = |delay: u64| json!({ "topology": "pair", "network": { "links": [link(delay)] } });
        assert_eq!(lab_differences(&lab(0), &lab(0)), [""; 0]);
        assert_eq!(lab_differences(&lab(0), &lab(20_000)), ["lab network links 1 ends 2 delay us: was 0, is 20000"]);
        assert_eq!(
            lab_differences(&json!({ "topology": "pair", "network": null }), &lab(0)),
            ["lab network: was absent, is present"]
        );
        assert_eq!(lab_differences(&lab(0), &json!(null)), ["lab: was present, is absent"]);
    }

    #[test]
    fn of_many_differences_the_rest_is_counted() {
        let numbers = |first: usize| json!((first..first + 20).collect::<Vec<_>>());
        let found = lab_differences(&numbers(0), &numbers(1));
        assert_eq!((found.len(), found[8].as_str()), (9, "lab: 12 more differences"));
    }
}
