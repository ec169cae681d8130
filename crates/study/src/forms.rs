//! The forms of values that several keys have: each says what is allowed, to people and in the schema.

use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;

use bitcost_model::conditions::Conditions;
use bitcost_model::shaping::{MODERATION, moderation};
use bitcost_model::study::Label;
use bitcost_model::topology::Address;
use indexmap::IndexMap;
use schemars::{Schema, json_schema};
use serde::de::{self, IgnoredAny, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use toml_edit::Value;

use crate::check::Levels;
use crate::limits::BLOCKS;
use crate::mesh::Pattern;
use crate::settings;
use crate::topology::PRESETS;

/// The key of a schema with the allowed values in words.
pub(crate) const ALLOWED: &str = "x-allowed";

/// Types of a number or a word: the value, what is allowed in words, the schema, and the function that reads it.
macro_rules! forms {
    ($($(#[$about:meta])* $name:ident($value:ty), $allowed:expr, $schema:expr, $read:expr;)*) => {$(
        $(#[$about])*
        pub struct $name(pub $value);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<$name, D::Error> {
                let (allowed, read) = (&*$allowed, $read);
                from.deserialize_any(Form { allowed, read }).map($name)
            }
        }

        schemas! { $name, _generator => {
            let mut schema = Schema::try_from($schema).unwrap_or_default();
            schema.insert(ALLOWED.to_owned(), (*$allowed).into());
            schema
        }; }
    )*};
}

/// The form of a number or word.
struct Form<'a, T> {
    allowed: &'a str,
    read: fn(&Value) -> Option<T>,
}

impl<T> Form<'_, T> {
    fn of<E: de::Error>(&self, value: Value) -> Result<T, E> {
        let refused = || E::invalid_value(Unexpected::Other("another"), self);
        (self.read)(&value).ok_or_else(refused)
    }
}

impl<T> Visitor<'_> for Form<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.allowed)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.of(number.into())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.of(number.into())
    }

    fn visit_bool<E: de::Error>(self, on: bool) -> Result<T, E> {
        self.of(on.into())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        self.of(text.into())
    }
}

/// Forms of a whole number within these bounds.
macro_rules! wholes {
    ($($name:ident $least:literal..=$most:expr;)*) => {
        forms! {$(
            $name(u32),
                format!("a whole number from {} to {}", $least, $most),
                json!({ "type": "integer", "minimum": $least, "maximum": $most }),
                |value: &Value| {
                    let number = u32::try_from(value.as_integer()?).ok()?;
                    ($least..=$most).contains(&number).then_some(number)
                };
        )*}
    };
}

wholes! {
    Blocks 1..=BLOCKS;
    CountsPct 1..=10_000;
    LabMtu 576..=65_535;
    LinkMtu 68..=65_535;
}

forms! {
    Number(f64), "a number", json!({ "type": "number" }), finite;
    /// The width of an interval, in per cent.
    WidthPct(f64), "a number over 0, up to 100", json!({ "type": "number" }), |value: &Value| {
        finite(value).filter(|number| *number > 0.0 && *number <= 100.0)
    };
    /// The length of a measured window, in milliseconds.
    Window(u32), window(), scalar(), |value: &Value| {
        let mut conditions = Conditions::default();
        settings::set(&mut conditions, WINDOW, value).ok()?;
        Some(conditions.duration_ms)
    };
    Level(Label), "a level", scalar(), label;
    Topology(String), topologies(), text(), |value: &Value| Some(value.as_str()?.to_owned());
    PairPattern(Pattern), Pattern::ALLOWED, text(), |value: &Value| Pattern::parse(value.as_str()?);
    Subnet(Address), "a network of IPv4 such as \"10.0.0.0/8\"", text(), |value: &Value| {
        address(value.as_str()?).filter(|subnet| subnet.ip.is_ipv4())
    };
    Prefixed(Address), "an address with its prefix, such as \"10.0.0.1/24\" or \"fd00::1/64\"", text(),
        |value: &Value| address(value.as_str()?);
    /// Interrupt moderation, in microseconds.
    Moderation(u32), MODERATION, text(), |value: &Value| moderation(value.as_str()?);
    Router(IpAddr), "the address of a router", text(), |value: &Value| value.as_str()?.parse().ok();
}

fn text() -> serde_json::Value {
    json!({ "type": "string" })
}

pub(crate) fn scalar() -> serde_json::Value {
    json!({ "type": ["string", "number", "boolean"] })
}

fn finite(value: &Value) -> Option<f64> {
    let whole = value.as_integer().map(|number| number as f64);
    value
        .as_float()
        .or(whole)
        .filter(|number| number.is_finite())
}

/// The setting whose values are lengths of a measured window.
const WINDOW: &str = "duration_s";

fn window() -> String {
    let row = bitcost_model::settings::find(WINDOW);
    row.map_or_else(String::new, |row| row.kind.allowed())
}

/// The label of a level that is a value.
pub fn label(value: &Value) -> Option<Label> {
    let number = value.as_integer().map(Label::Number);
    let text = || value.as_str().map(|text| Label::Text(text.to_owned()));
    let switch = || value.as_bool().map(|on| Label::Text(on.to_string()));
    number.or_else(text).or_else(switch)
}

fn topologies() -> String {
    let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    format!("{}, or a path", presets.join(", "))
}

pub(crate) fn address(text: &str) -> Option<Address> {
    let (ip, length) = text.split_once('/')?;
    let (ip, length): (IpAddr, u8) = (ip.trim().parse().ok()?, length.trim().parse().ok()?);
    let most = if ip.is_ipv4() { 32 } else { 128 };
    (length <= most).then_some(Address::new(ip, length))
}

/// A metric by name, which the reader of the text checks.
#[derive(Deserialize)]
pub struct Metric(pub String);

/// What a factor's name that is not a text is told.
pub const FACTOR_NAME: &str = "the name of a factor";

/// A factor by name, which the reader of the text checks.
#[derive(Deserialize)]
pub struct FactorName(pub String);

/// Levels by the names of their factors, which the reader of the text checks.
#[derive(Deserialize)]
pub struct OfFactors<T>(Map<T>);

impl<T> OfFactors<T> {
    pub fn map<U>(self, of: impl Fn(T) -> U) -> Vec<(String, U)> {
        let own = self.0.into_iter();
        own.map(|(factor, levels)| (factor, of(levels))).collect()
    }
}

impl OfFactors<Level> {
    pub fn levels(self) -> Levels {
        self.map(|level| level.0)
    }
}

/// The values of a table by their keys, in the order of the text.
pub type Map<T> = IndexMap<String, T>;

/// One value, or a list of them; the reader of the text makes a list of one.
#[derive(Deserialize)]
pub struct Many<T>(pub Vec<T>);

/// What is read from its place once that is known which it depends on.
pub struct Later<T>(PhantomData<T>);

impl<'de, T> Deserialize<'de> for Later<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Later<T>, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Later(PhantomData))
    }
}

schemas! {
    Metric, _generator => json_schema!({
        "$ref": "#/definitions/metric", "x-allowed": "a metric"
    });
    FactorName, _generator => json_schema!({ "type": "string", "x-allowed": FACTOR_NAME });
    OfFactors<T>, generator => Map::<T>::json_schema(generator);
    Many<T>, generator => json_schema!({
        "anyOf": [generator.subschema_for::<T>(), {
            "type": "array", "items": generator.subschema_for::<T>()
        }]
    });
    Later<T>, generator => generator.subschema_for::<T>();
}
