//! Fields of a peer's JSON: other versions write numbers and booleans in other forms.

use serde_json::Value;

/// A whole number; absent for another type, and for a fraction. Versions before 3.14 write -1 as
/// 2^64 - 1, so that numbers from 2^63 on are -1.
pub fn whole(object: &Value, key: &str) -> Option<i64> {
    let value = object.get(key)?;
    if let Some(number) = value.as_i64() {
        return Some(number);
    }
    if value.is_u64() {
        return Some(-1);
    }
    let number = value.as_f64()?;
    match number {
        _ if number >= 9.2e18 => Some(-1),
        _ if number.fract() == 0.0 && number > -9.2e18 => Some(number as i64),
        _ => None,
    }
}

/// A count; absent where the field is missing, of another type, or below 0.
pub fn count(object: &Value, key: &str) -> Option<u64> {
    whole(object, key).and_then(|number| number.try_into().ok())
}

/// Whether a switch is on: the key is there and neither `false`, `0` nor `null`.
pub fn is_on(object: &Value, key: &str) -> bool {
    match object.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(_) => true,
    }
}

/// A text; absent where the field is missing or of another type.
pub fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}
