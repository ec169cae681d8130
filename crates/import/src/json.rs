//! JSON as programs leave it in files: with `nan`, between other lines, several documents in a row,
//! in a list or in an object around them, and with a key twice. Nothing is copied but keys.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The most keys of an object and elements of a list: a program's document has fewer.
pub(crate) const MOST_KEYS: usize = 10_000;
const MOST_ELEMENTS: usize = 1_000_000;

/// How deep documents may be in other objects.
const DEPTH: usize = 4;

/// How often a brace may be none of JSON before the search for more ends.
const MOST_BROKEN: usize = 100;

/// An object; each value is its text until it is asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object<'a>(pub Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<'de>, A::Error> {
                Ok(Object(most(|| map.next_entry(), MOST_KEYS)?))
            }
        }
        from.deserialize_map(Keys)
    }
}

/// All that `next` gives, which is at most `limit`.
fn most<T, E: Error>(
    mut next: impl FnMut() -> Result<Option<T>, E>,
    limit: usize,
) -> Result<Vec<T>, E> {
    let mut all = Vec::new();
    while let Some(one) = next()? {
        all.push(one);
        if all.len() > limit {
            return Err(E::custom(format!("more than {limit}")));
        }
    }
    Ok(all)
}

impl<'a> Object<'a> {
    fn values(&self, key: &str) -> impl DoubleEndedIterator<Item = &'a RawValue> {
        let pairs = self.0.iter().filter(move |(name, _)| name == key);
        pairs.map(|(_, value)| *value)
    }

    fn last(&self, key: &str) -> Option<&'a RawValue> {
        self.values(key).next_back()
    }

    /// The last value of this key, as text.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        Some(self.last(key)?.get())
    }

    /// Every object that has this key, in order.
    pub fn all(&self, key: &str) -> Vec<Object<'a>> {
        self.values(key).filter_map(of).collect()
    }

    /// The last object that has this key; an empty one where there is none.
    pub fn object(&self, key: &str) -> Object<'a> {
        self.all(key).pop().unwrap_or_default()
    }

    pub fn list(&self, key: &str) -> Vec<&'a RawValue> {
        self.last(key).map_or_else(Vec::new, elements)
    }

    /// The objects of a list.
    pub fn objects(&self, key: &str) -> Vec<Object<'a>> {
        self.list(key).into_iter().filter_map(of).collect()
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        number(self.last(key)?)
    }

    pub fn positive(&self, key: &str) -> Option<f64> {
        self.number(key).filter(|number| *number > 0.0)
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.parse().ok()
    }

    pub fn text(&self, key: &str) -> Option<String> {
        text(self.last(key)?)
    }
}

/// A number; absent where it means *not measured*: below 0, or −1 printed without its sign
/// (18446744073709551615, iperf3 up to 3.13).
pub(crate) fn number(raw: &RawValue) -> Option<f64> {
    let number: f64 = raw.get().parse().ok()?;
    (0.0..9.2e18).contains(&number).then_some(number)
}

pub(crate) fn text(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// A list of at most `MOST_ELEMENTS`.
pub(crate) fn list<'a, T: Deserialize<'a>>(text: &'a str) -> Option<Vec<T>> {
    struct Elements<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Elements<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
            most(|| seq.next_element(), MOST_ELEMENTS)
        }
    }
    let mut from = serde_json::Deserializer::from_str(text);
    from.deserialize_seq(Elements(PhantomData)).ok()
}

/// The elements of a list; none of anything else.
fn elements(raw: &RawValue) -> Vec<&RawValue> {
    list(raw.get()).unwrap_or_default()
}

pub(crate) fn of(raw: &RawValue) -> Option<Object<'_>> {
    serde_json::from_str(raw.get()).ok()
}

/// The documents of a text, with what is between them.
pub(crate) struct Documents<'a, 't> {
    text: &'a str,
    is_one: fn(&Object) -> bool,
    take: &'t mut dyn FnMut(Object<'a>) -> Result<(), String>,
    /// What is no JSON, with its line.
    broken: Option<String>,
}

impl<'a> Documents<'a, '_> {
    /// Gives each document to `take`, in order; the result is the first thing that is no JSON.
    pub fn each(
        text: &'a str,
        is_one: fn(&Object) -> bool,
        take: &mut dyn FnMut(Object<'a>) -> Result<(), String>,
    ) -> Result<Option<String>, String> {
        let broken = None;
        let mut found = Documents {
            text,
            is_one,
            take,
            broken,
        };
        found.read()?;
        Ok(found.broken)
    }

    fn read(&mut self) -> Result<(), String> {
        let (mut at, mut broken) = (0, 0);
        while let Some(begin) = self.text[at..].find('{').map(|begin| at + begin) {
            self.pass(at, begin);
            let mut values = serde_json::Deserializer::from_str(&self.text[begin..]).into_iter();
            at = begin + 1;
            match values.next() {
                Some(Ok(raw)) => {
                    at = begin + values.byte_offset();
                    self.take(raw, DEPTH)?;
                }
                Some(Err(error)) if broken < MOST_BROKEN => {
                    broken += 1;
                    let text = self.text;
                    self.broken.get_or_insert_with(|| {
                        let line = line_at(text, begin) + error.line() - 1;
                        format!("line {line} is cut or damaged: {error}")
                    });
                }
                _ => return Ok(()),
            }
        }
        self.pass(at, self.text.len());
        Ok(())
    }

    /// Says what was left out between documents, but not twice.
    fn pass(&mut self, from: usize, to: usize) {
        let all = &self.text[from..to];
        let between = all.trim_matches(|c: char| c.is_whitespace() || "[],".contains(c));
        if !between.is_empty() && self.broken.is_none() {
            let line = line_at(self.text, from + all.find(between).unwrap_or(0));
            let first = between.lines().next().unwrap_or_default();
            let begin: String = first.chars().take(60).collect();
            let broken = format!("line {line} is no JSON and was left out: {begin:?}");
            self.broken = Some(broken);
        }
    }

    fn take(&mut self, raw: &'a RawValue, depth: usize) -> Result<(), String> {
        let Some(object) = of(raw).filter(|_| depth > 0) else {
            return Ok(());
        };
        if (self.is_one)(&object) {
            return (self.take)(object);
        }
        for (_, value) in object.0 {
            let mut inner = elements(value).into_iter().chain([value]);
            inner.try_for_each(|value| self.take(value, depth - 1))?;
        }
        Ok(())
    }
}

fn line_at(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

/// `nan`, `-nan` and `inf` outside of strings become null, the only meaning that programs give
/// them.
pub(crate) fn without_nan(text: &str) -> Cow<'_, str> {
    let is_value = |at: usize| text[..at].trim_end().ends_with([':', ',', '[', '-']);
    let mut words = ["nan", "inf"]
        .iter()
        .flat_map(|word| text.match_indices(word));
    if !words.any(|(at, _)| is_value(at)) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    // Every other part is a string, unless its last quotation mark is escaped.
    let mut in_word = false;
    for part in text.split_inclusive('"') {
        if in_word {
            let slashes = part.trim_end_matches('"').chars().rev();
            in_word = slashes.take_while(|letter| *letter == '\\').count() % 2 == 1;
            cleaned.push_str(part);
            continue;
        }
        in_word = part.ends_with('"');
        let mut part = Cow::Borrowed(part);
        for literal in ["-nan", "nan", "-inf", "inf"] {
            if part.contains(literal) {
                part = Cow::Owned(part.replace(literal, "null"));
            }
        }
        cleaned.push_str(&part);
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

    fn all(text: &str) -> (Vec<Object<'_>>, Option<String>) {
        let mut found = Vec::new();
        let mut take = |object| {
            found.push(object);
            Ok(())
        };
        let broken = Documents::each(text, |_| true, &mut take).expect("documents");
        (found, broken)
    }
}
