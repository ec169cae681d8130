//! The results that both sides exchange after a test.

use bitcost_model::Invalid;
use serde_json::{Value, json};

use crate::json::{count, text, whole};

/// The most that a count of a stream can be, so that those of all streams can be added: 9 PB.
const MOST: u64 = 1 << 53;

/// One side's results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// CPU time of this side's process for the test, in percent of one CPU: in all, of it in user
    /// mode, and of it in the kernel. Absent where a peer does not tell.
    pub cpu_pct: Option<[f64; 3]>,
    /// Whether this side counts retransmitted segments; absent where it only receives.
    pub has_retransmits: Option<bool>,
    /// The congestion control in effect.
    pub congestion: Option<String>,
    /// Each stream.
    pub streams: Vec<StreamResult>,
}

/// One side's view of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamResult {
    /// 1, 3, 4, 5 and so on.
    pub id: u64,
    /// Bytes sent or received, without those of the omitted time.
    pub bytes: u64,
    /// Segments that were retransmitted; absent where this side cannot tell.
    pub retransmits: Option<u64>,
    /// RFC 3550's estimate, in seconds; absent where a peer sends no number.
    pub jitter_s: Option<f64>,
    /// Datagrams that were lost, with those of the omitted time.
    pub errors: u64,
    /// Datagrams that were sent, or the highest number received, with those of the omitted time.
    pub packets: u64,
    /// Lost datagrams and datagrams of the omitted time; absent from peers before 3.14.
    pub omitted: Option<[u64; 2]>,
    /// Seconds from the start to the end, without the omitted time; absent where a peer does not
    /// tell.
    pub seconds: Option<f64>,
}

impl Results {
    /// The document that the other side reads.
    pub fn to_json(&self) -> String {
        let [total, user, system] = self.cpu_pct.unwrap_or_default();
        let retransmits = self.has_retransmits.map_or(-1, i64::from);
        let mut document = json!({
            "cpu_util_total": total,
            "cpu_util_user": user,
            "cpu_util_system": system,
            "sender_has_retransmits": retransmits,
            "streams": self.streams.iter().map(StreamResult::to_json).collect::<Vec<_>>(),
        });
        if let Some(congestion) = &self.congestion {
            document["congestion_used"] = json!(congestion);
        }
        document.to_string()
    }

    /// Reads the other side's document; fields that cannot be read are absent.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn read(json: &[u8]) -> Result<Results, Invalid> {
        let document: Value = serde_json::from_slice(json)
            .map_err(|error| Invalid(format!("results are not JSON: {error}")))?;
        let streams = document.get("streams").and_then(Value::as_array);
        let streams =
            streams.ok_or_else(|| Invalid("the results have no list `streams`".to_owned()))?;
        let percent = |key: &str| document.get(key)?.as_f64().filter(|pct| *pct >= 0.0);
        let cpu = [
            percent("cpu_util_total"),
            percent("cpu_util_user"),
            percent("cpu_util_system"),
        ];
        Ok(Results {
            cpu_pct: match cpu {
                [Some(total), Some(user), Some(system)] => Some([total, user, system]),
                _ => None,
            },
            has_retransmits: match whole(&document, "sender_has_retransmits") {
                Some(0) => Some(false),
                Some(1) => Some(true),
                _ => None,
            },
            congestion: text(&document, "congestion_used").map(str::to_owned),
            streams: streams
                .iter()
                .map(StreamResult::read)
                .collect::<Result<_, _>>()
                .map_err(Invalid)?,
        })
    }
}

impl StreamResult {
    fn to_json(&self) -> Value {
        let [omitted_errors, omitted_packets] = self.omitted.unwrap_or_default();
        json!({
            "id": self.id,
            "bytes": self.bytes,
            "retransmits": self.retransmits.map_or(-1, u64::cast_signed),
            "jitter": self.jitter_s.unwrap_or(0.0),
            "errors": self.errors,
            "omitted_errors": omitted_errors,
            "packets": self.packets,
            "omitted_packets": omitted_packets,
            "start_time": 0,
            "end_time": self.seconds.unwrap_or(0.0),
        })
    }

    fn read(stream: &Value) -> Result<StreamResult, String> {
        let required = |key: &str| {
            count(stream, key)
                .ok_or_else(|| format!("a stream of the results has no count `{key}`"))
        };
        let counts = [
            "bytes",
            "retransmits",
            "errors",
            "packets",
            "omitted_errors",
            "omitted_packets",
        ];
        if let Some(key) = counts
            .into_iter()
            .find(|key| count(stream, key) > Some(MOST))
        {
            return Err(format!(
                "a stream of the results has a count `{key}` above {MOST}"
            ));
        }
        let number = |key: &str| stream.get(key)?.as_f64().filter(|number| *number >= 0.0);
        let omitted = [
            count(stream, "omitted_errors"),
            count(stream, "omitted_packets"),
        ];
        Ok(StreamResult {
            id: required("id")?,
            bytes: required("bytes")?,
            retransmits: count(stream, "retransmits"),
            jitter_s: number("jitter"),
            errors: count(stream, "errors").unwrap_or(0),
            packets: count(stream, "packets").unwrap_or(0),
            omitted: match omitted {
                [Some(errors), Some(packets)] => Some([errors, packets]),
                _ => None,
            },
            seconds: number("end_time").filter(|seconds| *seconds > 0.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_they_were_written() {
        let results = Results {
            cpu_pct: Some([12.5, 2.5, 10.0]),
            has_retransmits: Some(true),
            congestion: Some("cubic".to_owned()),
            streams: vec![StreamResult {
                id: 3,
                bytes: 1 << 40,
                retransmits: None,
                jitter_s: Some(0.001),
                errors: 2,
                packets: 9,
                omitted: Some([1, 4]),
                seconds: Some(2.5),
            }],
        };
        assert_eq!(Results::read(results.to_json().as_bytes()), Ok(results));
    }

    #[test]
    fn a_count_that_cannot_be_is_refused() {
        let read = |bytes: u64| {
            let text = format!(r#"{{"streams":[{{"id":1,"bytes":{bytes}}}]}}"#);
            Results::read(text.as_bytes())
        };
        assert!(read(MOST).is_ok());
        let why = read(MOST + 1).unwrap_err();
        assert!(why.0.contains("`bytes` above"), "{why}");
    }

    #[test]
    fn minus_one_of_older_versions_is_absent() {
        let read = Results::read(br#"{"sender_has_retransmits":18446744073709551615,"streams":[{"id":1,"bytes":5,"retransmits":18446744073709551615,"jitter":0}]}"#).unwrap();
        assert_eq!((read.has_retransmits, read.cpu_pct), (None, None));
        assert_eq!(
            (read.streams[0].retransmits, read.streams[0].omitted),
            (None, None)
        );
    }
}
