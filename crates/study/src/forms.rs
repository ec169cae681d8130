//! The forms of values that several keys have: each says what is allowed, to people and in the schema.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::net::IpAddr;

use bitcost_model::conditions::Conditions;
use bitcost_model::shaping::{MODERATION, moderation};
use bitcost_model::study::Label;
use bitcost_model::topology::Address;
use bitcost_model::units::parse_rate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use toml_edit::Value;

use crate::limits::BLOCKS;
use crate::mesh::Pattern;
use crate::settings;
use crate::topology::PRESETS;

/// The key of a schema with the allowed values in words.
pub(crate) const ALLOWED: &str = "x-allowed";

/// The form of a number or word.
pub trait Form {
    type Value;

    /// The allowed values, in words.
    fn allowed() -> Cow<'static, str>;

    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "string" })
    }

    fn read(value: &Value) -> Option<Self::Value>;
}

pub struct As<F: Form>(pub F::Value);

impl<'de, F: Form> Deserialize<'de> for As<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<As<F>, D::Error> {
        deserializer.deserialize_any(FormVisitor::<F>(PhantomData))
    }
}

impl<F: Form> JsonSchema for As<F> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        F::allowed()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = Schema::try_from(F::schema()).unwrap_or_default();
        schema.insert(ALLOWED.to_owned(), F::allowed().into());
        schema
    }
}

struct FormVisitor<F>(PhantomData<F>);

impl<F: Form> FormVisitor<F> {
    fn read<E: de::Error>(&self, value: Value) -> Result<As<F>, E> {
        let refused = || E::invalid_value(Unexpected::Other("another"), self);
        F::read(&value).map(As).ok_or_else(refused)
    }
}

impl<F: Form> Visitor<'_> for FormVisitor<F> {
    type Value = As<F>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&F::allowed())
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<As<F>, E> {
        self.read(number.into())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<As<F>, E> {
        self.read(number.into())
    }

    fn visit_bool<E: de::Error>(self, on: bool) -> Result<As<F>, E> {
        self.read(on.into())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<As<F>, E> {
        self.read(text.into())
    }
}

/// A whole number within these bounds.
pub struct Whole<const LEAST: u32, const MOST: u32>;

impl<const LEAST: u32, const MOST: u32> Form for Whole<LEAST, MOST> {
    type Value = u32;

    fn allowed() -> Cow<'static, str> {
        format!("a whole number from {LEAST} to {MOST}").into()
    }

    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }

    fn read(value: &Value) -> Option<u32> {
        let number = u32::try_from(value.as_integer()?).ok()?;
        (LEAST..=MOST).contains(&number).then_some(number)
    }
}

pub type Blocks = Whole<1, BLOCKS>;

fn finite(value: &Value) -> Option<f64> {
    let whole = value.as_integer().map(|number| number as f64);
    value
        .as_float()
        .or(whole)
        .filter(|number| number.is_finite())
}

pub struct Number;

impl Form for Number {
    type Value = f64;

    fn allowed() -> Cow<'static, str> {
        "a number".into()
    }

    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "number" })
    }

    fn read(value: &Value) -> Option<f64> {
        finite(value)
    }
}

/// A number over 0; of 0 as `MOST` of any size.
pub struct Over0<const MOST: u32>;

impl<const MOST: u32> Form for Over0<MOST> {
    type Value = f64;

    fn allowed() -> Cow<'static, str> {
        match MOST {
            0 => "a number over 0".into(),
            _ => format!("a number over 0, up to {MOST}").into(),
        }
    }

    fn schema() -> serde_json::Value {
        Number::schema()
    }

    fn read(value: &Value) -> Option<f64> {
        let fits = |number: &f64| *number > 0.0 && (MOST == 0 || *number <= f64::from(MOST));
        finite(value).filter(fits)
    }
}

/// The setting whose values are lengths of a measured window.
const WINDOW: &str = "duration_s";

/// The length of a measured window, in milliseconds.
pub struct Window;

impl Form for Window {
    type Value = u32;

    fn allowed() -> Cow<'static, str> {
        bitcost_model::settings::find(WINDOW)
            .map_or_else(String::new, |row| row.kind.allowed())
            .into()
    }

    fn schema() -> serde_json::Value {
        scalar()
    }

    fn read(value: &Value) -> Option<u32> {
        let mut conditions = Conditions::default();
        settings::set(&mut conditions, WINDOW, value).ok()?;
        Some(conditions.duration_ms)
    }
}

pub struct Level;

impl Form for Level {
    type Value = Label;

    fn allowed() -> Cow<'static, str> {
        "a level".into()
    }

    fn schema() -> serde_json::Value {
        scalar()
    }

    fn read(value: &Value) -> Option<Label> {
        let number = value.as_integer().map(Label::Number);
        let text = || value.as_str().map(|text| Label::Text(text.to_owned()));
        let switch = || value.as_bool().map(|on| Label::Text(on.to_string()));
        number.or_else(text).or_else(switch)
    }
}

pub(crate) fn scalar() -> serde_json::Value {
    serde_json::json!({ "type": ["string", "number", "boolean"] })
}

/// Forms of text: the name, the value, what is allowed, and the function that reads it.
macro_rules! texts {
    ($($(#[$about:meta])* $name:ident($value:ty), $allowed:expr, $read:expr;)*) => {
        $(
            $(#[$about])*
            pub struct $name;

            impl Form for $name {
                type Value = $value;

                fn allowed() -> Cow<'static, str> {
                    $allowed.into()
                }

                fn read(value: &Value) -> Option<$value> {
                    $read(value.as_str()?)
                }
            }
        )*
    };
}

texts! {
    Topology(String), topologies(), |text: &str| Some(text.to_owned());
    FactorName(String), "the name of a factor", |text: &str| Some(text.to_owned());
    /// The rate of a link, in bit/s.
    Rate(u64), "a rate such as \"2.5G\"", |text| parse_rate(text).ok();
    PairPattern(Pattern), Pattern::ALLOWED, Pattern::parse;
    Subnet(Address), "a network of IPv4 such as \"10.0.0.0/8\"", |text| {
        address(text).filter(|subnet| subnet.ip.is_ipv4())
    };
    Prefixed(Address), "an address with its prefix, such as \"10.0.0.1/24\" or \"fd00::1/64\"", address;
    /// Interrupt moderation, in microseconds.
    Moderation(u32), MODERATION, moderation;
    Router(IpAddr), "the address of a router", |text: &str| text.parse().ok();
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

/// The values of a table by their keys, in the order of the text.
pub struct Map<T>(pub Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Map<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Map<T>, D::Error> {
        deserializer.deserialize_map(MapVisitor(PhantomData))
    }
}

struct MapVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for MapVisitor<T> {
    type Value = Map<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Map<T>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Map(entries))
    }
}

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
    Map<T>, generator => json_schema!({
        "type": "object", "additionalProperties": generator.subschema_for::<T>()
    });
    Many<T>, generator => json_schema!({
        "anyOf": [generator.subschema_for::<T>(), {
            "type": "array", "items": generator.subschema_for::<T>()
        }]
    });
    Later<T>, generator => generator.subschema_for::<T>();
}
