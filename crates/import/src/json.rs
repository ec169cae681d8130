//! JSON as programs leave it in files: with `nan`, between other lines, several documents in a row,
//! in a list or in an object around them, and with a key twice. Nothing is copied but keys.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The most keys of an object and elements of a list: a program's document has fewer.
const MOST_KEYS: usize = 10_000;
pub(crate) const MOST_ELEMENTS: usize = 300_000;

/// How deep documents may be in other objects and lists.
const DEPTH: usize = 6;

/// How often a brace may be none of JSON before the search for more ends.
const MOST_BROKEN: usize = 100;

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
                most(|| map.next_entry(), MOST_KEYS)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node<'de>, A::Error> {
                let value = || Ok(seq.next_element()?.map(|value| (String::new(), value)));
                most(value, MOST_ELEMENTS)
            }
        }
        from.deserialize_any(Values)
    }
}

/// All that `next` gives, which is at most `limit`.
fn most<'a, E: Error>(
    mut next: impl FnMut() -> Result<Option<(String, &'a RawValue)>, E>,
    limit: usize,
) -> Result<Node<'a>, E> {
    let mut all = Vec::new();
    while let Some(one) = next()? {
        all.push(one);
        if all.len() > limit {
            return Err(E::custom(format!("more than {limit}")));
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
        self.values(key)
            .next_back()
            .map_or_else(Node::default, Node::of)
    }

    /// What the elements of the list of this key are.
    pub fn nodes(&self, key: &str) -> Vec<Node<'a>> {
        let elements = self.node(key).0.into_iter();
        elements.map(|(_, value)| Node::of(value)).collect()
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        number(self.get(key)?)
    }

    pub fn positive(&self, key: &str) -> Option<f64> {
        self.number(key).filter(|number| *number > 0.0)
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.parse().ok()
    }

    pub fn text(&self, key: &str) -> Option<String> {
        serde_json::from_str(self.get(key)?).ok()
    }
}

/// A number; absent where it means *not measured*: below 0, or −1 printed without its sign
/// (18446744073709551615, iperf3 up to 3.13).
pub(crate) fn number(raw: &str) -> Option<f64> {
    let number: f64 = raw.parse().ok()?;
    (0.0..9.2e18).contains(&number).then_some(number)
}

type Take<'t, 'a> = &'t mut dyn FnMut(Node<'a>) -> Result<(), String>;

/// Gives each document of a text, in order, also those in other objects and lists; the result is the
/// first thing between them that is none.
pub(crate) fn documents<'a>(
    text: &'a str,
    is_one: fn(&Node) -> bool,
    take: Take<'_, 'a>,
) -> Result<Option<String>, String> {
    let (mut at, mut count, mut broken) = (0, 0, None);
    while let Some(begin) = text[at..].find('{').map(|begin| at + begin) {
        broken = broken.or_else(|| between(text, at, begin));
        let mut values = serde_json::Deserializer::from_str(&text[begin..]).into_iter();
        at = begin + 1;
        match values.next() {
            Some(Ok(raw)) => {
                at = begin + values.byte_offset();
                within(raw, DEPTH, is_one, take)?;
            }
            Some(Err(error)) if count < MOST_BROKEN => {
                count += 1;
                broken.get_or_insert_with(|| {
                    let line = line_at(text, begin) + error.line() - 1;
                    format!("line {line} is cut or damaged: {error}")
                });
            }
            _ => return Ok(broken),
        }
    }
    Ok(broken.or_else(|| between(text, at, text.len())))
}

/// What is no JSON between two documents.
fn between(text: &str, from: usize, to: usize) -> Option<String> {
    let all = &text[from..to];
    let found = all.trim_matches(|c: char| c.is_whitespace() || "[],".contains(c));
    let first: String = found.lines().next()?.chars().take(60).collect();
    let line = line_at(text, from + all.find(found).unwrap_or(0));
    Some(format!(
        "line {line} is no JSON and was left out: {first:?}"
    ))
}

fn line_at(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

fn within<'a>(
    raw: &'a RawValue,
    depth: usize,
    is_one: fn(&Node) -> bool,
    take: Take<'_, 'a>,
) -> Result<(), String> {
    let node = Node::of(raw);
    if raw.get().starts_with('{') && is_one(&node) {
        return take(node);
    }
    let mut values = node.0.into_iter().filter(|_| depth > 0);
    values.try_for_each(|(_, value)| within(value, depth - 1, is_one, take))
}

/// `nan`, `-nan` and `inf` outside of strings become null, the only meaning that programs give
/// them.
pub(crate) fn without_nan(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 2] = ["nan", "inf"];
    let is_value = |(at, _)| {
        let before = text[..at].trim_end_matches('-').trim_end();
        before.ends_with([':', ',', '['])
    };
    let mut words = WORDS.iter().flat_map(|word| text.match_indices(word));
    if !words.any(is_value) {
        return Cow::Borrowed(text);
    }
    let (mut cleaned, mut is_string) = (String::with_capacity(text.len()), false);
    for part in text.split_inclusive('"') {
        for word in part.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
            let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            match WORDS.contains(&bare) && !is_string {
                true => cleaned += &word.trim_start_matches('-').replace(bare, "null"),
                false => cleaned += word,
            }
        }
        let content = part.trim_end_matches('"');
        let slashes = content.len() - content.trim_end_matches('\\').len();
        is_string ^= content != part && !(is_string && slashes % 2 == 1);
    }
    Cow::Owned(cleaned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strict_readers_refuse_is_read() {
        let text = without_nan(r#"{"a": -nan, "a": 2, "b": "nan \" nan"} {"c": inf} {"d":"#);
        let (found, broken) = all(&text);
        assert_eq!(found[0].number("a"), Some(2.0));
        assert_eq!(found[0].text("b").as_deref(), Some("nan \" nan"));
        assert_eq!(found[1].get("c"), Some("null"));
        assert!(found.len() == 2 && broken.is_some());
        let text = r#"{"a": 18446744073709551615, "b": -1, "c": 7}"#;
        let object = &all(text).0[0];
        let numbers = ["a", "b", "c"].map(|key| object.number(key));
        assert_eq!(numbers, [None, None, Some(7.0)]);
    }

    fn all(text: &str) -> (Vec<Node<'_>>, Option<String>) {
        let mut found = Vec::new();
        let mut take = |object| {
            found.push(object);
            Ok(())
        };
        let broken = documents(text, |_| true, &mut take).expect("documents");
        (found, broken)
    }
}
