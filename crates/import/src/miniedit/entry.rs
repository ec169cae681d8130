//! The entries of the lists of a MiniEdit file, which all have an object of options.

use serde_json::{Map, Value};

pub(super) type Object = Map<String, Value>;

const MOST: usize = 1000;

pub(super) struct Entry<'a> {
    /// Its place in the file and its name, where that is known.
    pub at: String,
    pub object: &'a Object,
    /// Its options; absent where it has none.
    pub opts: Option<&'a Object>,
}

pub(super) fn entries<'a>(root: &'a Object, key: &str) -> Result<Vec<Entry<'a>>, String> {
    let list = match root.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= MOST => list,
        Some(Value::Array(list)) => {
            let count = list.len();
            return Err(format!("{key}: {count} entries; allowed: at most {MOST}"));
        }
        Some(Value::Object(_)) if key == "controllers" => {
            return Err(
                "controllers: an object, as in files of version 1; allowed: a list".to_owned(),
            );
        }
        Some(_) => return Err(format!("{key}: not a list")),
    };
    let entry = |(index, value): (usize, &'a Value)| {
        let at = format!("{key}[{index}]");
        let Some(object) = value.as_object() else {
            return Err(format!("{at}: not an object"));
        };
        let opts = match object.get("opts") {
            None | Some(Value::Null) => None,
            Some(Value::Object(opts)) => Some(opts),
            Some(_) => return Err(format!("{at}.opts: not an object")),
        };
        Ok(Entry { at, object, opts })
    };
    list.iter().enumerate().map(entry).collect()
}

impl Entry<'_> {
    pub fn fault(&self, sentence: impl std::fmt::Display) -> String {
        format!("{}: {sentence}", self.at)
    }

    pub fn option(&self, key: &str) -> Option<&Value> {
        self.opts?.get(key)
    }

    pub fn word(&self, key: &str) -> Option<String> {
        text(self.option(key)?)
    }

    pub fn length(&self, key: &str) -> usize {
        let list = self.option(key).and_then(Value::as_array);
        list.map_or(0, Vec::len)
    }

    /// True where an option has another value than the one that has no effect.
    pub fn has(&self, key: &str) -> bool {
        let none = ["0", "0.0", "host"];
        self.length(key) > 0 || self.word(key).is_some_and(|text| !none.contains(&&*text))
    }
}

/// A word or a number as text; `None` for an empty value or another type.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

pub(super) fn word(object: &Object, key: &str) -> Option<String> {
    object.get(key).and_then(text)
}
