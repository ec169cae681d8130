//! Recordings as they are kept, and condensed ones: compressed, and with samples as the differences
//! of their numbers from the sample before.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::trial::Trial;

/// The text of a recording; a name that ends in `.gz` is of a compressed one.
pub fn text(path: &Path) -> Result<String> {
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Ok(std::fs::read_to_string(path)?);
    }
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path)?).read_to_string(&mut text)?;
    Ok(text)
}

/// The trial of a line. A sample that is a list holds the differences of all whole numbers from
/// those of the sample before, in order.
///
/// # Errors
/// When it is no trial.
pub fn trial(line: &str) -> Result<Trial> {
    let mut document: Value = serde_json::from_str(line)?;
    for end in ["sender", "receiver"] {
        let samples = document[end]["samples"].as_array_mut();
        let mut before = Value::Null;
        for sample in samples.context("no samples")? {
            if let Value::Array(differences) = sample {
                let mut differences = differences.iter().filter_map(Value::as_i64);
                let mut whole = before.clone();
                add(&mut whole, &mut differences)?;
                *sample = whole;
            }
            before = sample.clone();
        }
    }
    Ok(serde_json::from_value(document)?)
}

fn add(value: &mut Value, differences: &mut impl Iterator<Item = i64>) -> Result<()> {
    match value {
        Value::Object(map) => map.values_mut().try_for_each(|part| add(part, differences)),
        Value::Array(list) => list.iter_mut().try_for_each(|part| add(part, differences)),
        Value::Number(number) if !number.is_f64() => {
            let difference = i128::from(differences.next().context("too few differences")?);
            let sum = number.as_i128().context("no whole number")? + difference;
            *number = serde_json::Number::from_i128(sum).context("a number that is too large")?;
            Ok(())
        }
        _ => Ok(()),
    }
}
