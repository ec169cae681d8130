//! The results that both sides exchange after a test.

use bitcost_model::Invalid;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::params;

/// The most that a count can be, so that those of all streams can be added: 9 PB.
const MOST: u64 = 1 << 53;

/// One side's results, by the names that they have on the way.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Results {
    /// CPU time of this side's process for the test, in percent of one CPU; absent where a peer does
    /// not tell.
    #[serde(serialize_with = "or_zero")]
    pub cpu_util_total: Option<f64>,
    #[serde(serialize_with = "or_zero")]
    pub cpu_util_user: Option<f64>,
    #[serde(serialize_with = "or_zero")]
    pub cpu_util_system: Option<f64>,
    /// 1 where this side counts retransmitted segments; absent where it only receives.
    #[serde(serialize_with = "or_minus_one")]
    pub sender_has_retransmits: Option<u64>,
    /// The congestion control in effect; not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    pub streams: Vec<StreamResult>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StreamResult {
    /// 1, 3, 4, 5 and so on.
    pub id: u64,
    /// Bytes sent or received, without those of the omitted time.
    pub bytes: u64,
    /// Segments that were retransmitted; absent where this side cannot tell.
    #[serde(serialize_with = "or_minus_one")]
    pub retransmits: Option<u64>,
    /// RFC 3550's estimate, in seconds; absent where a peer sends no number.
    #[serde(serialize_with = "or_zero")]
    pub jitter: Option<f64>,
    /// Datagrams that were lost, with those of the omitted time.
    pub errors: u64,
    /// Datagrams that were sent, or the highest number received, with those of the omitted time.
    pub packets: u64,
    /// Lost datagrams of the omitted time; not read.
    pub omitted_errors: u64,
    /// Datagrams of the omitted time; not read.
    pub omitted_packets: u64,
    /// 0; not read.
    pub start_time: u64,
    /// Seconds from the start to the end, without the omitted time; not read.
    pub end_time: f64,
}

impl Results {
    /// Reads the other side's document; the last one of several equal keys counts.
    pub fn read(json: &[u8]) -> Result<Results, Invalid> {
        let document: Value = serde_json::from_slice(json)
            .map_err(|error| Invalid(format!("results are not JSON: {error}")))?;
        let streams = document.get("streams").and_then(Value::as_array);
        let streams =
            streams.ok_or_else(|| Invalid("the results have no list `streams`".to_owned()))?;
        Ok(Results {
            cpu_util_total: number(&document, "cpu_util_total"),
            cpu_util_user: number(&document, "cpu_util_user"),
            cpu_util_system: number(&document, "cpu_util_system"),
            sender_has_retransmits: count(&document, "sender_has_retransmits")?,
            congestion_used: None,
            streams: streams
                .iter()
                .map(StreamResult::read)
                .collect::<Result<_, _>>()?,
        })
    }
}

impl StreamResult {
    fn read(stream: &Value) -> Result<StreamResult, Invalid> {
        let required = |key: &str| {
            let none = || Invalid(format!("a stream of the results has no count `{key}`"));
            count(stream, key)?.ok_or_else(none)
        };
        Ok(StreamResult {
            id: required("id")?,
            bytes: required("bytes")?,
            retransmits: count(stream, "retransmits")?,
            jitter: number(stream, "jitter"),
            errors: count(stream, "errors")?.unwrap_or(0),
            packets: count(stream, "packets")?.unwrap_or(0),
            ..StreamResult::default()
        })
    }
}

/// A number; absent for another type, and below 0.
fn number(object: &Value, key: &str) -> Option<f64> {
    object.get(key)?.as_f64().filter(|number| *number >= 0.0)
}

/// A count; absent for another type, and below 0.
fn count(object: &Value, key: &str) -> Result<Option<u64>, Invalid> {
    match object.get(key).and_then(params::count) {
        Some(count) if count > MOST => Err(Invalid(format!(
            "the results have a count `{key}` above {MOST}; at most that many are possible"
        ))),
        count => Ok(count),
    }
}

fn or_zero<S: Serializer>(number: &Option<f64>, into: S) -> Result<S::Ok, S::Error> {
    into.serialize_f64(number.unwrap_or(0.0))
}

fn or_minus_one<S: Serializer>(count: &Option<u64>, into: S) -> Result<S::Ok, S::Error> {
    into.serialize_i64(count.map_or(-1, u64::cast_signed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_that_cannot_be_is_refused() {
        let read = |bytes: u64| {
            let text = format!(r#"{{"streams":[{{"id":1,"bytes":{bytes}}}]}}"#);
            Results::read(text.as_bytes())
        };
        assert!(read(MOST).is_ok());
        let why = read(MOST + 1).unwrap_err();
        assert!(why.0.contains("`bytes` above"), "{why}");
        assert!(why.0.contains("at most"), "{why}");
    }

    #[test]
    fn an_error_has_no_word_of_the_peer() {
        for streams in [
            format!(r#"{{"streams":"{}"}}"#, "x".repeat(250_000)),
            format!(r#"{{"streams":["{}"]}}"#, "x".repeat(250_000)),
            "[0,0,0,-1,[[1,5]]]".to_owned(),
        ] {
            let why = Results::read(streams.as_bytes()).unwrap_err();
            assert!(why.0.len() < 100 && !why.0.contains("xx"), "{why}");
        }
    }

    #[test]
    fn minus_one_of_older_versions_is_absent() {
        let read = Results::read(br#"{"sender_has_retransmits":18446744073709551615,"streams":[{"id":1,"bytes":5,"retransmits":18446744073709551615,"jitter":0}]}"#).unwrap();
        assert_eq!(
            (read.sender_has_retransmits, read.cpu_util_total),
            (None, None)
        );
        assert_eq!(read.streams[0].retransmits, None);
    }

    #[test]
    fn results_are_read_as_they_were_written() {
        let results = Results {
            cpu_util_total: Some(12.5),
            cpu_util_user: Some(2.5),
            cpu_util_system: Some(10.0),
            sender_has_retransmits: Some(1),
            congestion_used: None,
            streams: vec![StreamResult {
                id: 3,
                bytes: 1 << 40,
                retransmits: None,
                jitter: Some(0.001),
                errors: 2,
                packets: 9,
                ..StreamResult::default()
            }],
        };
        assert_eq!(
            Results::read(serde_json::to_string(&results).unwrap().as_bytes()),
            Ok(results)
        );
    }
}
