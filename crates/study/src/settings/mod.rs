//! The settings that a study may vary or fix, and that `bitcost test` has as options.

mod background;
mod setting;
mod table;

use std::collections::BTreeMap;

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::host_settings::{OFFLOADS, SettingRequest};
use bitcost_model::near::near_or_all;
use bitcost_model::retired::instead_of;
use toml_edit::Value;

pub(crate) use background::to_toml as background_to_toml;
pub(crate) use setting::shown;
pub use setting::{Choice, Flag, Form, Kind, Setting, number};
pub use table::SETTINGS;

pub fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name)
}

/// Sets one setting by name to a value of a study file.
///
/// # Errors
/// A sentence that says what was found and what is allowed, with near matches.
pub fn set(conditions: &mut Conditions, name: &str, value: &Value) -> Result<(), Invalid> {
    let setting = named(name)?;
    match setting.kind {
        Kind::Background => {
            let read = background::from_value(value, &setting.kind.allowed());
            conditions.background =
                read.map_err(|reason| Invalid(format!("`{name}`: {reason}")))?;
            Ok(())
        }
        _ => setting.set_value(conditions, value),
    }
}

pub fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
}

/// The setting of this name.
///
/// # Errors
/// What replaced it, or near matches.
pub fn named(name: &str) -> Result<&'static Setting, Invalid> {
    find(name).ok_or_else(|| {
        let all: Vec<&str> = names().collect();
        let unknown = || format!("unknown setting `{name}`{}", near_or_all(name, &all));
        Invalid(instead_of(name).unwrap_or_else(unknown))
    })
}

/// Sets a setting to the text of a command line. Each further background workload is added to those
/// before.
///
/// # Errors
/// A sentence that says what was found and what is allowed, with near matches.
pub fn set_text(setting: &Setting, conditions: &mut Conditions, text: &str) -> Result<(), Invalid> {
    match setting.kind {
        Kind::Background => {
            conditions.background.push(background::from_text(text)?);
            Ok(())
        }
        _ => setting.set_text(conditions, text),
    }
}

/// Sets a setting as a change of a run that has its settings already: what is set at one host alone leaves the other host
/// as it is.
///
/// # Errors
/// As [`set_text`] and [`named`].
pub fn change(conditions: &mut Conditions, name: &str, text: &str) -> Result<(), Invalid> {
    let mut before = conditions.host_settings.clone();
    before.extend(conditions.offloads.set().map(|set| SettingRequest {
        endpoint: None,
        setting: OFFLOADS.to_owned(),
        subject: None,
        values: BTreeMap::from([("set".to_owned(), set.to_owned())]),
    }));
    set_text(named(name)?, conditions, text)?;
    let own = || {
        conditions
            .host_settings
            .iter()
            .filter(|new| new.setting == name)
    };
    let Some(host) = own().next().and_then(|new| new.endpoint) else {
        return Ok(());
    };
    let is_replaced = |old: &SettingRequest| {
        old.setting == name
            && old.endpoint != Some(host)
            && (old.subject.is_none() || own().any(|new| new.subject == old.subject))
    };
    before.retain(is_replaced);
    let kept = before.into_iter().map(|old| SettingRequest {
        endpoint: Some(host.other()),
        ..old
    });
    conditions.host_settings.extend(kept);
    Ok(())
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Mss;
    use bitcost_model::record::Role;

    use bitcost_model::conditions::Offloads;

    use super::*;

    #[test]
    fn names_and_letters_are_there_once() {
        let mut seen: Vec<String> = names().map(str::to_owned).collect();
        for flag in SETTINGS.iter().filter_map(|setting| setting.flag) {
            seen.push(format!("--{}", flag.long));
            seen.extend(flag.letter.map(|letter| format!("-{letter}")));
        }
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count);
    }

    #[test]
    fn change_at_one_host_leaves_the_other_as_it_is() {
        let mut conditions = Conditions {
            offloads: Offloads::Off,
            ..Conditions::default()
        };
        let of = |conditions: &Conditions, host: Role| {
            let own = conditions.host_settings.iter();
            let own = own.filter(|request| request.is_of(host));
            own.flat_map(|request| request.values.values().cloned())
                .collect::<Vec<_>>()
        };
        change(&mut conditions, "offloads", "receiver: tso on").expect("possible");
        assert_eq!(conditions.offloads, Offloads::AsFound);
        assert_eq!(of(&conditions, Role::Sender), ["off"]);
        assert_eq!(of(&conditions, Role::Receiver), ["on"]);
        change(&mut conditions, "threaded_napi", "sender: on").expect("possible");
        change(&mut conditions, "threaded_napi", "receiver: off").expect("possible");
        assert_eq!(of(&conditions, Role::Sender), ["off", "1"]);
        assert_eq!(of(&conditions, Role::Receiver), ["on", "0"]);
    }

    #[test]
    fn bounds_are_those_of_the_setting_with_their_name() {
        for setting in SETTINGS {
            if let Kind::Number(bounds, ..) = setting.kind {
                assert_eq!(bounds.name, setting.name);
            }
        }
    }

    #[test]
    fn what_is_typed_is_read_with_its_unit_and_range() {
        let typed = |name: &str, text: &str| {
            let mut conditions = Conditions::default();
            let setting = SETTINGS
                .iter()
                .find(|setting| setting.name == name)
                .expect("a setting");
            set_text(setting, &mut conditions, text).map(|()| conditions)
        };
        assert_eq!(
            typed("message_size_bytes", "64KiB").map(|c| c.message_size_bytes),
            Ok(65_536)
        );
        assert_eq!(typed("duration_s", "250ms").map(|c| c.duration_ms), Ok(250));
        assert_eq!(typed("warmup_s", "0").map(|c| c.warmup_ms), Ok(0));
        for (text, ns) in [("2000", 2000), ("2us", 2000), ("300ns", 300)] {
            assert_eq!(
                typed("send_work_ns", text).map(|c| c.buffers.send_work_ns),
                Ok(ns),
                "{text}"
            );
        }
        assert_eq!(
            typed("mss", "message").map(|c| c.mss),
            Ok(Some(Mss::Message))
        );
        for (name, text) in [
            ("message_size_bytes", "0"),
            ("message_size_bytes", "-1"),
            ("dscp", "64"),
            ("duration_s", "0"),
            ("busy_poll_us", "400ns"),
            ("offloads", "onn"),
        ] {
            assert!(typed(name, text).is_err(), "{name} {text}");
        }
    }
}
