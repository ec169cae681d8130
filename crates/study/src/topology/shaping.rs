//! What lab files write of a direction of a link: a row for each key, with its rate, time, share or limit,
//! which always has a unit.

use bitcost_model::Invalid;
use bitcost_model::shaping::{
    LIMIT, QueueLimit, Shaping, bytes, limit, share, show_limit, show_rate, show_share, show_time,
    time,
};
use bitcost_model::units::parse_rate;
use schemars::json_schema;
use serde_json::{Map, json};

const RATE: &str = "a rate with its unit, such as \"1G\" or \"250 Mbit/s\"";
const TIME: &str = "a time with its unit, such as \"20ms\" or \"500us\", up to a minute";
const SHARE: &str = "a share from \"0%\" to \"100%\", such as \"1%\" or \"0.01%\"";
const BYTES: &str = "bytes with their unit, such as \"500000 B\" or \"64KiB\"";

pub struct Row {
    pub name: &'static str,
    allowed: &'static str,
    about: &'static str,
    /// The text that turns it off where a lab is changed.
    pub off: &'static str,
    set: fn(&mut Shaping, &str) -> Option<()>,
    pub copy: fn(&mut Shaping, &Shaping),
    /// The value as text that reads back; absent where it is the default.
    pub show: fn(&Shaping) -> Option<String>,
}

/// A row of a field, with the function that reads its text and the one that shows its value.
macro_rules! rows {
    ($($name:literal $field:ident $allowed:ident $off:literal, $read:expr, $show:expr, $about:literal;)*) => {
        &[$(Row {
            name: $name,
            allowed: $allowed,
            about: $about,
            off: $off,
            set: |shaping, text| {
                shaping.$field = $read(text)?;
                Some(())
            },
            copy: |shaping, from| shaping.$field = from.$field,
            show: |shaping| {
                let is_set = shaping.$field != Shaping::default().$field;
                is_set.then(|| $show(shaping.$field))
            },
        }),*]
    };
}

pub const ROWS: &[Row] = rows! {
    "rate" rate_bps RATE "none", |text| parse_rate(text).ok().map(Some), |bps: Option<u64>| show_rate(bps.unwrap_or_default()),
        "Limits the bits of frames (default: no limit).";
    "burst" burst_bytes BYTES "none", |text| u32::try_from(bytes(text)?).ok().map(Some), |burst: Option<u32>| format!("{} B", burst.unwrap_or_default()),
        "Bytes that may leave at once (default: 4 ms of the rate, at least 128 KiB).";
    "delay" delay_us TIME "0", time, show_time,
        "Time by which each packet is delayed (default: none).";
    "jitter" jitter_us TIME "0", time, show_time,
        "Delays are from delay − jitter to delay + jitter, uniformly (default: none).";
    "loss" loss_ppm SHARE "0", share, show_share,
        "Share of packets that are dropped (default: none).";
    "reorder" reorder_ppm SHARE "0", share, show_share,
        "Share of packets that are sent without the delay (default: none).";
    "duplicate" duplicate_ppm SHARE "0", share, show_share,
        "Share of packets that are sent twice (default: none).";
    "queue_limit" queue_limit LIMIT "none", |text| limit(text).map(Some), |room: Option<QueueLimit>| room.map_or(String::new(), show_limit),
        "Maximum queue length, delayed packets included (default: with a rate, the bytes of delay, jitter and 50 ms at that rate, at least 128 KiB; otherwise no limit).";
};

impl Row {
    pub fn named(name: &str) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.name == name)
    }

    pub fn names() -> Vec<&'static str> {
        ROWS.iter().map(|row| row.name).collect()
    }

    /// Sets the value to a text, which errors show as the author wrote it.
    pub fn read(&self, shaping: &mut Shaping, text: &str, shown: &str) -> Result<(), Invalid> {
        let allowed = self.allowed;
        let text = text.trim();
        if text.parse::<f64>().is_ok_and(f64::is_finite) {
            let message = format!("is {shown}, which has no unit; allowed: {allowed}");
            return Err(Invalid(message));
        }
        (self.set)(shaping, text).ok_or_else(|| Invalid(format!("is {shown}; allowed: {allowed}")))
    }
}

pub struct ShapingTable;

schemas! {
    ShapingTable, _generator => {
        let key = |row: &Row| {
            let schema =
                json!({ "type": "string", "description": row.about, "x-allowed": row.allowed });
            (row.name.to_owned(), schema)
        };
        json_schema!({
            "title": "[egress.DEVICE]",
            "description": "What leaves by a device; in a study `[lab.egress.DEVICE]`. Every quantity has a unit.",
            "type": "object",
            "properties": ROWS.iter().map(key).collect::<Map<_, _>>(),
            "additionalProperties": false
        })
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_back() {
        for bps in [1, 999, 1000, 2_500_000, 1_000_000_000, 2_500_000_000] {
            assert_eq!(parse_rate(&show_rate(bps)), Ok(bps));
        }
        for us in [1, 500, 1000, 20_000, 1500] {
            assert_eq!(time(&show_time(us)), Some(us));
        }
        for ppm in [1, 100, 10_000, 1_000_000] {
            assert_eq!(share(&show_share(ppm)), Some(ppm));
        }
        for room in [
            QueueLimit::Packets(1000),
            QueueLimit::Segments(5),
            QueueLimit::Bytes(2_621_440),
        ] {
            assert_eq!(limit(&show_limit(room)), Some(room));
        }
        assert_eq!(limit("1 packet"), Some(QueueLimit::Packets(1)));
        assert_eq!(limit("2.5MiB"), Some(QueueLimit::Bytes(2_621_440)));
        assert_eq!(
            (time("0ms"), time("0"), limit("1000")),
            (Some(0), None, None)
        );
    }
}
