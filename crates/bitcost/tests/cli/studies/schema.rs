//! The part of JSON Schema (draft 7) that bitcost's schemas use. A word that is not known here fails
//! the test, so that none is ignored.

use serde_json::{Map, Value};

/// A value of TOML as JSON.
pub fn json_of(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(is) => (*is.value()).into(),
        toml_edit::Value::Array(list) => list.iter().map(json_of).collect(),
        toml_edit::Value::InlineTable(table) => {
            let pairs = table
                .iter()
                .map(|(key, value)| (key.to_owned(), json_of(value)));
            Value::Object(pairs.collect())
        }
        toml_edit::Value::Datetime(date) => date.to_string().into(),
    }
}

/// What a value breaks of a schema, each with its place.
pub fn mistakes(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, schema, value, "", &mut found);
    found
}

fn is_valid(root: &Value, schema: &Value, value: &Value) -> bool {
    let mut found = Vec::new();
    check(root, schema, value, "", &mut found);
    found.is_empty()
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let words = schema.as_object().expect("a schema is a table");
    if let Some(target) = words.get("$ref").and_then(Value::as_str) {
        let target = root
            .pointer(target.trim_start_matches('#'))
            .expect("it is defined");
        return check(root, target, value, place, found);
    }
    for (word, rule) in words {
        let holds = match word.as_str() {
            "$schema" | "title" | "description" | "definitions" | "then" => true,
            "properties" | "additionalProperties" | "items" => {
                inside(root, words, word, value, place, found);
                true
            }
            "allOf" => {
                let rules = rule.as_array().expect("a list");
                rules
                    .iter()
                    .for_each(|rule| check(root, rule, value, place, found));
                true
            }
            "anyOf" => {
                let rules = rule.as_array().expect("a list");
                rules.iter().any(|rule| is_valid(root, rule, value))
            }
            "not" => !is_valid(root, rule, value),
            "if" => {
                if is_valid(root, rule, value) {
                    check(root, &words["then"], value, place, found);
                }
                true
            }
            _ => alone(word, rule, value),
        };
        if !holds {
            found.push(format!("{place}: {value} breaks {word} {rule}"));
        }
    }
}

/// Rules of the parts of a table or of a list.
fn inside(
    root: &Value,
    words: &Map<String, Value>,
    word: &str,
    value: &Value,
    place: &str,
    found: &mut Vec<String>,
) {
    let of = &words[word];
    if let ("items", Some(list)) = (word, value.as_array()) {
        for (index, item) in list.iter().enumerate() {
            check(root, of, item, &format!("{place}/{index}"), found);
        }
    }
    let Some(table) = value.as_object().filter(|_| word != "items") else {
        return;
    };
    let own = words.get("properties");
    for (key, value) in table {
        let place = format!("{place}/{key}");
        match (word, own.and_then(|own| own.get(key))) {
            ("properties", Some(rule)) => check(root, rule, value, &place, found),
            ("additionalProperties", None) if of == &Value::Bool(false) => {
                found.push(format!("{place}: unknown"));
            }
            ("additionalProperties", None) => check(root, of, value, &place, found),
            _ => {}
        }
    }
}

/// Rules of a value alone.
fn alone(word: &str, rule: &Value, value: &Value) -> bool {
    let least =
        |length: Option<usize>| length.is_none_or(|length| length as u64 >= rule.as_u64().unwrap());
    let number = |holds: fn(f64, f64) -> bool| {
        value
            .as_f64()
            .is_none_or(|value| holds(value, rule.as_f64().unwrap()))
    };
    match word {
        "type" => match rule {
            Value::Array(types) => types.iter().any(|one| is_of(one, value)),
            one => is_of(one, value),
        },
        "enum" => rule.as_array().unwrap().contains(value),
        "const" => rule == value,
        "required" => value.as_object().is_none_or(|table| {
            let keys = rule.as_array().unwrap().iter();
            keys.filter_map(Value::as_str)
                .all(|key| table.contains_key(key))
        }),
        "minimum" => number(|value, bound| value >= bound),
        "maximum" => number(|value, bound| value <= bound),
        "exclusiveMinimum" => number(|value, bound| value > bound),
        "minItems" => least(value.as_array().map(Vec::len)),
        "minLength" => least(value.as_str().map(str::len)),
        "minProperties" => least(value.as_object().map(Map::len)),
        "maxItems" => value
            .as_array()
            .is_none_or(|list| list.len() as u64 <= rule.as_u64().unwrap()),
        "pattern" => value
            .as_str()
            .is_none_or(|text| matches(rule.as_str().unwrap(), text)),
        _ => panic!("this test does not know the word {word}"),
    }
}

fn is_of(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        name => panic!("unknown type {name}"),
    }
}

/// The patterns that the schemas have.
fn matches(pattern: &str, text: &str) -> bool {
    let is_digit = |letter: char| letter.is_ascii_digit() || letter == '.';
    match pattern {
        r"^\s*[0-9.]" => text.trim_start().starts_with(is_digit),
        "[^0-9. ]" => text
            .chars()
            .any(|letter| !is_digit(letter) && letter != ' '),
        r"/|\.toml$|\.mn$" => {
            text.contains('/') || text.ends_with(".toml") || text.ends_with(".mn")
        }
        pattern => panic!("this test does not know the pattern {pattern}"),
    }
}
