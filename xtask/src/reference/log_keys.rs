//! The page of the log's keys, made from the schema of its events.

use anyhow::{Context, Result};
use bitcost_render::markdown_table::cell;
use serde_json::{Map, Value};

/// The page.
pub fn page() -> Result<String> {
    let schema = bitcost_model::event::schema();
    let mut keys = Keys {
        types: schema["$defs"].as_object().context("types of the log")?,
        wanted: Vec::new(),
    };
    let mut text = String::from(
        "# Keys of the log\n\nEach line of `events.jsonl` is one JSON object, whose `event` names it, and whose last key is `checksum`. A key whose value may be absent is \
         left out, or `null`. All times in ns are of the endpoint's own `CLOCK_MONOTONIC`. [The log](../method/log.md) says \
         when each event is written, and what the checksum at the end of a line covers. `bitcost studies schema log` prints this page as a JSON Schema.\n",
    );
    for event in schema["oneOf"].as_array().context("events")? {
        let about = described(event);
        if !about.contains("not kept in the log") {
            let name = event["properties"]["event"]["const"].as_str();
            text += &format!("\n## Event {}\n\n{about}\n", name.context("a name")?);
            text += &keys.table(event);
        }
    }
    let mut next = 0;
    while let Some(name) = keys.wanted.get(next).cloned() {
        let found = &keys.types[&name];
        text += &format!("\n## {name}\n\n{}\n", described(found));
        text += &match found["oneOf"].as_array() {
            Some(variants) => keys.variants(variants),
            None => keys.table(found),
        };
        next += 1;
    }
    Ok(text)
}

/// Writes keys, and notes the types that they need.
struct Keys<'a> {
    types: &'a Map<String, Value>,
    wanted: Vec<String>,
}

impl Keys<'_> {
    fn table(&mut self, object: &Value) -> String {
        let mut text = String::from("\n| key | value | it is |\n|---|---|---|\n");
        for (name, key) in object["properties"].as_object().into_iter().flatten() {
            if key.get("const").is_none() {
                let about = cell(&described(key));
                text += &format!("| `{name}` | {} | {about} |\n", self.kind(key));
            }
        }
        text
    }

    /// The variants of a type, some of which hold something.
    fn variants(&mut self, variants: &[Value]) -> String {
        let mut text = String::from("\n| one of | holds | it is |\n|---|---|---|\n");
        for variant in variants {
            let held = variant["properties"].as_object().into_iter().flatten();
            let mut held = held.map(|(name, of)| (name.as_str(), self.kind(of)));
            let (name, holds) = match (words(variant), held.next()) {
                (Some(word), _) => (word, "–".to_owned()),
                (None, Some((name, holds))) => (format!("`{name}`"), holds),
                (None, None) => continue,
            };
            let about = cell(&described(variant));
            text += &format!("| {name} | {holds} | {about} |\n");
        }
        text
    }

    /// What a value is, in words.
    fn kind(&mut self, of: &Value) -> String {
        if let Some(name) = of["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            return self.named(name);
        }
        if let Some(words) = words(of) {
            return words;
        }
        for either in ["anyOf", "oneOf", "allOf"] {
            if let Some(all) = of[either].as_array() {
                let (absent, known): (Vec<_>, Vec<_>) =
                    all.iter().partition(|one| one["type"] == "null");
                let known: Vec<String> = known.into_iter().map(|one| self.kind(one)).collect();
                return optional(known.join(" or "), !absent.is_empty());
            }
        }
        let names = match &of["type"] {
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            name => Vec::from_iter(name.as_str()),
        };
        let may_be_absent = names.contains(&"null");
        let name = names.into_iter().find(|name| *name != "null");
        optional(self.simple(name.unwrap_or_default(), of), may_be_absent)
    }

    fn simple(&mut self, name: &str, of: &Value) -> String {
        match name {
            "integer" => "whole number".to_owned(),
            "number" => "number".to_owned(),
            "boolean" => "true or false".to_owned(),
            "string" if of["format"] == "ip" => "address".to_owned(),
            "string" => "text".to_owned(),
            "array" => match of["prefixItems"].as_array() {
                Some(items) => {
                    let items: Vec<String> = items.iter().map(|item| self.kind(item)).collect();
                    format!("list of {}", items.join(" and "))
                }
                None => format!("list of {}", self.kind(&of["items"])),
            },
            "object" => match of.get("additionalProperties") {
                Some(value) => format!("object: {} by name", self.kind(value)),
                None => "object".to_owned(),
            },
            _ => "any value".to_owned(),
        }
    }

    /// A type with a name: its words where it has nothing else, otherwise a link to its section.
    fn named(&mut self, name: &str) -> String {
        let found = &self.types[name];
        let has_section = found.get("properties").is_some()
            || (found.get("oneOf").is_some() && words(found).is_none());
        if !has_section {
            return self.kind(found);
        }
        if !self.wanted.iter().any(|wanted| wanted == name) {
            self.wanted.push(name.to_owned());
        }
        format!("[{name}](#{})", name.to_lowercase())
    }
}

fn optional(kind: String, may_be_absent: bool) -> String {
    match may_be_absent {
        true => format!("{kind}, may be absent"),
        false => kind,
    }
}

/// The words that a value can be, where it can be nothing else.
fn words(of: &Value) -> Option<String> {
    let word = |value: &Value| Some(format!("`{}`", value.as_str()?));
    if let Some(word) = of.get("const").and_then(word) {
        return Some(word);
    }
    let all: Option<Vec<String>> = match (&of["enum"], &of["oneOf"]) {
        (Value::Array(all), _) => all.iter().map(word).collect(),
        (_, Value::Array(all)) => all.iter().map(words).collect(),
        _ => None,
    };
    Some(all?.join(", "))
}

/// The description without the links of rustdoc.
fn described(of: &Value) -> String {
    let text = of["description"].as_str().unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (link, rest) = part.split_once("`]").unwrap_or((part, ""));
        let names: Vec<&str> = link.split("::").collect();
        let last = names[names.len().saturating_sub(2)..].iter();
        let last = last.filter(|name| !["crate", "super", "self"].contains(name));
        plain += &format!("`{}`{rest}", last.copied().collect::<Vec<_>>().join("::"));
    }
    plain
}
