//! The page of the log's keys: the events and every type in them, as the source comments them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use bitcost_render::markdown_table::cell;

use super::log_types::{Field, Type, read};

/// The page, from the sources of the types.
pub fn page(sources: &Path) -> Result<String> {
    let types = read(sources)?;
    let event = types.get("Event").context("no `Event` in the sources")?;
    let mut text = String::from(
        "# Keys of the log\n\nEach line of `events.jsonl` is one JSON object, whose `event` names it, and whose last key is `checksum`. A key whose value may be absent is \
         left out, or `null`. All times in ns are of the endpoint's own `CLOCK_MONOTONIC`. [The log](../method/log.md) says \
         when each event is written, and what the checksum at the end of a line covers.\n",
    );
    let mut keys = Keys {
        types: &types,
        wanted: Vec::new(),
        unknown: Vec::new(),
    };
    for variant in &event.variants {
        if variant.doc.contains("not kept in the log") {
            continue;
        }
        let about = keys.plain(&variant.doc);
        text += &format!("\n## Event {}\n\n{about}\n", variant.name);
        text += &keys.table(&variant.fields);
    }
    let mut next = 0;
    while next < keys.wanted.len() {
        let name = keys.wanted[next].clone();
        let found = &types[&name];
        text += &format!("\n## {name}\n\n{}\n", keys.plain(&found.doc));
        text += &match found.variants.is_empty() {
            true => keys.table(&found.fields),
            false => keys.variants(found),
        };
        next += 1;
    }
    ensure!(
        keys.unknown.is_empty(),
        "unknown types in the log: {:?}",
        keys.unknown
    );
    Ok(text)
}

/// Writes keys, and notes the types that they need.
struct Keys<'a> {
    types: &'a BTreeMap<String, Type>,
    wanted: Vec<String>,
    unknown: Vec<String>,
}

impl Keys<'_> {
    fn table(&mut self, fields: &[Field]) -> String {
        let mut text = String::from("\n| key | value | it is |\n|---|---|---|\n");
        for field in fields {
            let kind = self.kind(&field.kind);
            let name = match field.name.as_str() {
                "" => "*the keys of the value*".to_owned(),
                name => format!("`{name}`"),
            };
            text += &format!("| {name} | {kind} | {} |\n", cell(&self.plain(&field.doc)));
        }
        text
    }

    /// An enum some of whose variants hold something.
    fn variants(&mut self, found: &Type) -> String {
        let mut text = String::from("\n| one of | holds | it is |\n|---|---|---|\n");
        for variant in &found.variants {
            let mut holds: Vec<String> = Vec::new();
            for field in &variant.fields {
                holds.push(format!("`{}` ({})", field.name, self.kind(&field.kind)));
            }
            let held = variant.holds.as_ref().map(|held| self.kind(held));
            holds.extend(held);
            let holds = if holds.is_empty() {
                "–".to_owned()
            } else {
                holds.join(", ")
            };
            let about = cell(&self.plain(&variant.doc));
            text += &format!("| `{}` | {holds} | {about} |\n", variant.name);
        }
        text
    }

    /// A type of the source, in words.
    fn kind(&mut self, kind: &str) -> String {
        let inside = |outer: &str| {
            let rest = kind.strip_prefix(outer)?.strip_prefix('<')?;
            rest.strip_suffix('>').map(str::to_owned)
        };
        if let Some(inner) = inside("Option") {
            return format!("{}, may be absent", self.kind(&inner));
        }
        if let Some(inner) = inside("Box") {
            return self.kind(&inner);
        }
        if let Some(inner) = inside("Vec").or(inside("BTreeSet")) {
            return format!("list of {}", self.kind(&inner));
        }
        if let Some(inner) = inside("BTreeMap") {
            let (_, value) = inner.split_once(", ").unwrap_or(("", &inner));
            return format!("object: {} by name", self.kind(value));
        }
        if let Some(inner) = kind.strip_prefix('[') {
            let element = inner.split(';').next().unwrap_or(inner);
            return format!("list of {}", self.kind(element));
        }
        if let Some((first, second)) = kind
            .strip_prefix('(')
            .and_then(|both| both.split_once(", "))
        {
            let second = second.trim_end_matches(')');
            return format!("list of {} and {}", self.kind(first), self.kind(second));
        }
        match kind {
            "u8" | "u16" | "u32" | "u64" | "i32" | "i64" | "usize" => "whole number".to_owned(),
            "f64" => "number".to_owned(),
            "bool" => "true or false".to_owned(),
            "String" => "text".to_owned(),
            "IpAddr" => "address".to_owned(),
            name => self.named(name.rsplit("::").next().unwrap_or(name)),
        }
    }

    /// A type with a name: its words where it has nothing else, otherwise a link to its section.
    fn named(&mut self, name: &str) -> String {
        let Some(found) = self.types.get(name) else {
            self.unknown.push(name.to_owned());
            return String::new();
        };
        if found.is_text {
            return "text".to_owned();
        }
        let variants = &found.variants;
        if found.is_untagged {
            let held = variants.iter().filter_map(|one| one.holds.as_ref());
            let held: Vec<String> = held.map(|held| self.kind(held)).collect();
            return held.join(" or ");
        }
        let is_word = |all: &[super::log_types::Variant]| {
            all.iter()
                .all(|one| one.fields.is_empty() && one.holds.is_none())
        };
        if !variants.is_empty() && is_word(variants) {
            let words: Vec<String> = variants
                .iter()
                .map(|one| format!("`{}`", one.name))
                .collect();
            return words.join(", ");
        }
        if !self.wanted.iter().any(|wanted| wanted == name) {
            self.wanted.push(name.to_owned());
        }
        format!("[{name}](#{})", name.to_lowercase())
    }

    /// A comment without the links of rustdoc.
    fn plain(&self, doc: &str) -> String {
        let mut parts = doc.split("[`");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (link, rest) = part.split_once("`]").unwrap_or((part, ""));
            let names: Vec<&str> = link.split("::").collect();
            let last = &names[names.len().saturating_sub(2)..];
            let last = last
                .iter()
                .filter(|name| !["crate", "super", "self"].contains(name));
            text += &format!("`{}`{rest}", last.copied().collect::<Vec<_>>().join("::"));
        }
        text
    }
}
