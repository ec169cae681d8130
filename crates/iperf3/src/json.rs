//! Fields of a peer's JSON: other versions write numbers and booleans in other forms.

use serde_json::Value;

/// A whole number; absent for another type, and for a fraction. Versions before 3.14 write -1 as
/// 2^64 - 1, so that numbers from 2^63 on are -1.
pub fn whole(value: &Value) -> Option<i64> {
    match value.as_f64()? {
        _ if value.is_i64() => value.as_i64(),
        number if number >= 9.2e18 => Some(-1),
        number if number.fract() == 0.0 && number > -9.2e18 => Some(number as i64),
        _ => None,
    }
}

/// A count; absent for another type, and below 0.
pub fn count(value: &Value) -> Option<u64> {
    whole(value)?.try_into().ok()
}

/// Whether a switch is on: the key is there and neither `false`, `0` nor `null`.
pub fn is_on(object: &Value, key: &str) -> bool {
    match object.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(_) => true,
    }
}
