//! JSON as programs leave it in files: with `nan`, between other lines, several documents in a row,
//! in a list or in an object around them, and with a key twice. Nothing is copied but keys.

use std::borrow::Cow;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::run::measured;

/// The most keys of an object and elements of a list, and the most documents of a file.
const MOST: usize = 300_000;

/// How deep documents may be in other objects and lists.
const DEPTH: usize = 6;

/// How often a brace may be none of JSON before the search for more ends.
const MOST_BROKEN: usize = 20;

/// Keys of a document of iperf3, of an event of its stream, and of a document of flent, with how
/// their values begin.
pub(crate) const DOCUMENTS: [(&str, char); 5] = [
    ("start", '{'),
    ("end", '{'),
    ("intervals", '['),
    ("event", '"'),
    ("x_values", '['),
];

/// An object, or a list, whose elements have no keys; each value is its text until it is asked for.
/// Of another value, and where there is none, it is empty.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Node<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = Node<'de>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object or a list")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node<'de>, A::Error> {
                all(|| map.next_entry())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node<'de>, A::Error> {
                all(|| Ok(seq.next_element()?.map(|value| (String::new(), value))))
            }
        }
        from.deserialize_any(Values)
    }
}

/// All that `next` gives, unless that is too much.
fn all<'a, E: Error>(
    mut next: impl FnMut() -> Result<Option<(String, &'a RawValue)>, E>,
) -> Result<Node<'a>, E> {
    let mut all = Vec::new();
    while let Some(one) = next()? {
        all.push(one);
        if all.len() > MOST {
            return Err(E::custom(format!("more than {MOST}")));
        }
    }
    Ok(Node(all))
}

impl<'a> Node<'a> {
    pub fn of(raw: &'a RawValue) -> Node<'a> {
        serde_json::from_str(raw.get()).unwrap_or_default()
    }

    /// Every value of this key, in order.
    pub fn values(&self, key: &str) -> impl DoubleEndedIterator<Item = &'a RawValue> {
        let pairs = self.0.iter().filter(move |(name, _)| name == key);
        pairs.map(|(_, value)| *value)
    }

    /// The last value of this key, as text.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        Some(self.values(key).next_back()?.get())
    }

    pub fn node(&self, key: &str) -> Node<'a> {
        let value = self.values(key).next_back();
        value.map(Node::of).unwrap_or_default()
    }

    /// What the elements of the list of this key are.
    pub fn nodes(&self, key: &str) -> Vec<Node<'a>> {
        let elements = self.node(key).0.into_iter();
        elements.map(|(_, value)| Node::of(value)).collect()
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        measured(self.get(key)?)
    }

    pub fn positive(&self, key: &str) -> Option<f64> {
        self.number(key).filter(|number| *number > 0.0)
    }

    pub fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.get(key)?).ok()
    }
}

/// The documents of a text, at least one, in order, also those in other objects and lists, and the
/// first thing between them that is none.
pub(crate) fn documents(text: &str) -> Result<(Vec<Node<'_>>, Option<String>), String> {
    let (mut found, mut at, mut count, mut broken) = (Vec::new(), 0, 0, None);
    let between = |text: &str| {
        let left = text.trim_matches(|c: char| c.is_whitespace() || "[],".contains(c));
        let first: String = left.lines().next()?.chars().take(60).collect();
        Some(format!("no JSON, and left out: {first:?}"))
    };
    while let Some(begin) = text[at..].find('{').map(|begin| at + begin) {
        broken = broken.or_else(|| between(&text[at..begin]));
        let mut values = serde_json::Deserializer::from_str(&text[begin..]).into_iter();
        at = begin + 1;
        match values.next() {
            Some(Ok(raw)) => {
                at = begin + values.byte_offset();
                within(raw, DEPTH, &mut found)?;
            }
            Some(Err(error)) if count < MOST_BROKEN => {
                count += 1;
                broken.get_or_insert_with(|| {
                    let line = text[..begin].matches('\n').count() + error.line();
                    format!("line {line} is cut or damaged: {error}")
                });
            }
            _ => at = text.len(),
        }
    }
    let broken = broken.or_else(|| between(&text[at..]));
    match broken {
        _ if !found.is_empty() => Ok((found, broken)),
        Some(broken) => Err(format!("its JSON cannot be read: {broken}")),
        None => Err("its JSON has no result of iperf3 or flent".to_owned()),
    }
}

fn within<'a>(raw: &'a RawValue, depth: usize, found: &mut Vec<Node<'a>>) -> Result<(), String> {
    let node = Node::of(raw);
    let has = |(key, begin)| node.get(key).is_some_and(|value| value.starts_with(begin));
    if raw.get().starts_with('{') && DOCUMENTS.into_iter().any(has) {
        found.push(node);
        return match found.len() > MOST {
            true => Err(format!("it holds more than {MOST} documents")),
            false => Ok(()),
        };
    }
    let mut values = node.0.into_iter().filter(|_| depth > 0);
    values.try_for_each(|(_, value)| within(value, depth - 1, found))
}

/// `nan`, `-nan` and `inf` in the place of a value become null, the only meaning that programs give
/// them.
pub(crate) fn without_nan(text: &str) -> Cow<'_, str> {
    static NAN: LazyLock<Regex> = LazyLock::new(|| {
        let after = r"([:,\[][ \t\r\n]*)";
        let number = r"-?(?:nan|NaN|inf|Infinity)(?-u:\b)";
        Regex::new(&format!("{after}{number}")).expect("a pattern")
    });
    NAN.replace_all(text, "${1}null")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strict_readers_refuse_is_read() {
        let text = without_nan(
            r#"{"a": -nan, "a": 2, "b": "nan \" nan", "end": {}} {"c": inf, "end": {}} {"d":"#,
        );
        let (found, broken) = documents(&text).expect("documents");
        assert_eq!(found[0].number("a"), Some(2.0));
        assert_eq!(found[0].text("b").as_deref(), Some("nan \" nan"));
        assert_eq!(found[1].get("c"), Some("null"));
        assert!(found.len() == 2 && broken.is_some());
        let text = r#"{"a": 18446744073709551615, "b": -1, "c": 7, "end": {}}"#;
        let (found, _) = documents(text).expect("documents");
        let numbers = ["a", "b", "c"].map(|key| found[0].number(key));
        assert_eq!(numbers, [None, None, Some(7.0)]);
    }
}
