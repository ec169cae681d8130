//! JSON as programs write it: duplicate keys, several documents in a row, `nan`.

use serde_json::{Deserializer, Value};

/// The part of a text that could not be read.
pub(crate) struct Rest {
    /// The line at which the text stops being JSON, from 1.
    pub(crate) line: usize,
    /// The error.
    pub(crate) why: String,
}

/// Every document of the text, and the reason why the rest could not be read. Of duplicate keys the
/// last one counts.
pub(crate) fn documents(text: &str) -> (Vec<Value>, Option<Rest>) {
    let cleaned = without_nan(text);
    let mut found = Vec::new();
    for document in Deserializer::from_str(&cleaned).into_iter::<Value>() {
        match document {
            Ok(value) => found.push(value),
            Err(error) => {
                return (
                    found,
                    Some(Rest {
                        line: error.line(),
                        why: error.to_string(),
                    }),
                );
            }
        }
    }
    (found, None)
}

/// `nan`, `-nan` and `inf` outside of strings become null, the only meaning that programs give
/// them.
fn without_nan(text: &str) -> String {
    if !text.contains("nan") && !text.contains("inf") {
        return text.to_owned();
    }
    let mut cleaned = String::with_capacity(text.len());
    let (mut in_word, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let literal = ["-nan", "nan", "-inf", "inf"]
            .into_iter()
            .find(|literal| !in_word && rest.starts_with(literal));
        if let Some(literal) = literal {
            cleaned.push_str("null");
            rest = &rest[literal.len()..];
            continue;
        }
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_word => escaped = true,
            '"' => in_word = !in_word,
            _ => {}
        }
        cleaned.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    cleaned
}

/// A number; absent where the value is not a number, or means *not measured*: below 0, or −1
/// printed without its sign (18446744073709551615, iperf3 up to 3.13).
pub(crate) fn measured(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .filter(|number| *number >= 0.0 && *number < 9.2e18)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strict_readers_refuse_is_read() {
        let (found, rest) = documents(r#"{"a": -nan, "a": 2, "b": "nan \" nan"} {"c": inf} {"d":"#);
        assert_eq!(found[0]["a"], 2);
        assert_eq!(found[0]["b"], "nan \" nan");
        assert!(found[1]["c"].is_null() && rest.is_some());
        let minus_one: Value = serde_json::from_str("18446744073709551615").unwrap();
        assert_eq!(
            (
                measured(&minus_one),
                measured(&Value::from(-1)),
                measured(&Value::from(7))
            ),
            (None, None, Some(7.0))
        );
    }
}
