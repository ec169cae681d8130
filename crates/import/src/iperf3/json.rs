//! JSON as iperf3 writes it: duplicate keys, several documents in a row, `nan`.

use serde_json::{Deserializer, Value};

/// Every document of the text, and the line and the error at which it stops being JSON. Of duplicate
/// keys the last one counts.
pub(super) fn documents(text: &str) -> (Vec<Value>, Option<(usize, String)>) {
    let cleaned = without_nan(text);
    let mut found = Vec::new();
    for document in Deserializer::from_str(&cleaned).into_iter::<Value>() {
        match document {
            Ok(value) => found.push(value),
            Err(error) => return (found, Some((error.line(), error.to_string()))),
        }
    }
    (found, None)
}

/// `nan`, `-nan` and `inf` outside of strings become null, the only meaning that programs give
/// them.
fn without_nan(text: &str) -> String {
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
        let mut part = part.to_owned();
        for literal in ["-nan", "nan", "-inf", "inf"] {
            part = part.replace(literal, "null");
        }
        cleaned.push_str(&part);
    }
    cleaned
}

/// A number; absent where the value is not a number, or means *not measured*: below 0, or −1
/// printed without its sign (18446744073709551615, iperf3 up to 3.13).
pub(super) fn measured(value: &Value) -> Option<f64> {
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
