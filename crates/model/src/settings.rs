//! The settings that a study may vary or fix: one row each, with its name, its values, its effect.

use toml_edit::Value;

use crate::conditions::{Conditions, Mss, Offloads, Workload};
use crate::near::did_you_mean;

/// One setting of a run, as a study names it.
pub struct Setting {
    /// Its name in a study; the unit stands last.
    pub name: &'static str,
    /// The values it takes, for error messages and help.
    pub allowed: &'static str,
    /// What it is.
    pub about: &'static str,
    set: fn(&mut Conditions, &Value) -> Option<()>,
}

/// Every setting. A new one is a row here and a field of [`Conditions`].
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "workload",
        allowed: "\"tcp_stream\" or \"udp_stream\"",
        about: "how traffic is made",
        set: |c, v| {
            let name = v.as_str()?;
            c.workload = Workload::NAMES.iter().find(|(n, _)| *n == name)?.1;
            Some(())
        },
    },
    Setting {
        name: "message_size_bytes",
        allowed: "a whole number from 1 to 16777216 (UDP: to 65507)",
        about: "bytes that one send call hands over",
        set: |c, v| whole(v, 1, 1 << 24).map(|n| c.message_size_bytes = n),
    },
    Setting {
        name: "receive_size_bytes",
        allowed: "\"message\" (room for one message) or a whole number from 1 to 16777216",
        about: "bytes that one receive call has room for",
        set: |c, v| {
            c.receive_size_bytes = match v.as_str() {
                Some("message") => None,
                _ => Some(whole(v, 1, 1 << 24)?),
            };
            Some(())
        },
    },
    Setting {
        name: "mss",
        allowed: "\"message\" (a segment carries one message) or a whole number of bytes from 88 to 32767",
        about: "user data per TCP segment",
        set: |c, v| {
            c.mss = Some(match v.as_str() {
                Some("message") => Mss::Message,
                _ => Mss::Bytes(whole(v, 88, 32_767)?),
            });
            Some(())
        },
    },
    Setting {
        name: "offloads",
        allowed: "\"on\", \"off\" or \"as-found\"",
        about: "stateless offloads (tso gso gro, and lro where offered) at both hosts",
        set: |c, v| {
            c.offloads = match v.as_str()? {
                "on" => Offloads::On,
                "off" => Offloads::Off,
                "as-found" => Offloads::AsFound,
                _ => return None,
            };
            Some(())
        },
    },
    Setting {
        name: "congestion_control",
        allowed: "a name such as \"cubic\" or \"reno\"",
        about: "TCP congestion control, set per socket",
        set: |c, v| {
            let name = v.as_str().filter(|name| (1..16).contains(&name.len()))?;
            c.congestion_control = Some(name.to_owned());
            Some(())
        },
    },
    Setting {
        name: "send_buffer_bytes",
        allowed: "a whole number from 1 to 1073741823",
        about: "SO_SNDBUF to ask for",
        set: |c, v| whole(v, 1, 0x3fff_ffff).map(|n| c.send_buffer_bytes = Some(n)),
    },
    Setting {
        name: "receive_buffer_bytes",
        allowed: "a whole number from 1 to 1073741823",
        about: "SO_RCVBUF to ask for",
        set: |c, v| whole(v, 1, 0x3fff_ffff).map(|n| c.receive_buffer_bytes = Some(n)),
    },
    Setting {
        name: "receive_low_water_bytes",
        allowed: "a whole number from 1 to 1073741823",
        about: "SO_RCVLOWAT: a TCP receiver sleeps until this much is there",
        set: |c, v| whole(v, 1, 0x3fff_ffff).map(|n| c.receive_low_water_bytes = Some(n)),
    },
    Setting {
        name: "receiver_delay_us",
        allowed: "a whole number from 0 to 1000000",
        about: "time that the receiver sleeps after each receive call",
        set: |c, v| whole(v, 0, 1_000_000).map(|n| c.receiver_delay_us = n),
    },
    Setting {
        name: "warmup_s",
        allowed: "a number of seconds from 0 to 3600",
        about: "time before the measured window, not counted",
        set: |c, v| milliseconds(v, 0).map(|n| c.warmup_ms = n),
    },
    Setting {
        name: "duration_s",
        allowed: "a number of seconds from 0.1 to 3600",
        about: "the measured window",
        set: |c, v| milliseconds(v, 100).map(|n| c.duration_ms = n),
    },
];

fn whole(value: &Value, low: u32, high: u32) -> Option<u32> {
    let number = u32::try_from(value.as_integer()?).ok()?;
    (low..=high).contains(&number).then_some(number)
}

fn milliseconds(value: &Value, low: u32) -> Option<u32> {
    let seconds = value.as_float().or_else(|| value.as_integer().map(|n| n as f64))?;
    let ms = (seconds * 1000.0).round();
    (ms >= f64::from(low) && ms <= 3_600_000.0).then_some(ms as u32)
}

/// A value as the study's author wrote it, without the comments and spaces around it.
pub fn shown(value: &Value) -> String {
    value.clone().decorated("", "").to_string()
}

/// The names of all settings.
pub fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name)
}

/// Sets one setting by name.
///
/// # Errors
/// A sentence that says what was found and what is allowed, with near matches for a name.
pub fn set(conditions: &mut Conditions, name: &str, value: &Value) -> Result<(), String> {
    let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
        let all: Vec<&str> = names().collect();
        return Err(format!("unknown setting `{name}`{}; allowed: {}", did_you_mean(name, names()), all.join(", ")));
    };
    (setting.set)(conditions, value).ok_or_else(|| {
        let found = shown(value);
        let words = setting.allowed.split('"').skip(1).step_by(2);
        let hint = did_you_mean(value.as_str().unwrap_or(""), words);
        format!("`{name}` is {found}; allowed: {}{hint}", setting.allowed)
    })
}
