//! Background workloads, as studies and the command line write them.

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::near::did_you_mean;
use bitcost_model::workload::{WORKLOADS, Workload};
use toml_edit::{InlineTable, Value};

use super::setting::{Kind, Setting, shown};
use super::table::SETTINGS;

/// Reads a list of tables of settings; `allowed` describes the form of such a list in errors.
///
/// # Errors
/// A sentence that says what was found and what is allowed, with near matches.
pub fn from_value(value: &Value, allowed: &str) -> Result<Vec<Conditions>, Invalid> {
    let error = || Invalid(format!("it is {}; allowed: {allowed}", shown(value)));
    let tables = value.as_array().ok_or_else(error)?;
    tables
        .iter()
        .map(|table| from_table(table.as_inline_table().ok_or_else(error)?, allowed))
        .collect()
}

fn from_table(table: &InlineTable, allowed: &str) -> Result<Conditions, Invalid> {
    let value = table
        .get("workload")
        .ok_or_else(|| Invalid(format!("it has no workload; allowed: {allowed}")))?;
    let mut trial = Conditions::default();
    by_name("workload")?.set_value(&mut trial, value)?;
    let mut part = alone(trial.workload);
    for (name, value) in table.iter().filter(|(name, _)| *name != "workload") {
        let setting = by_name(name)?;
        check_fits(setting, name, part.workload)?;
        setting.set_value(&mut part, value)?;
    }
    Ok(part)
}

/// Reads a workload and settings by the names of their options: `tcp_rr request-size=64
/// direction=reverse`.
///
/// # Errors
/// A sentence that says what was found and what is allowed, with near matches.
pub fn from_text(text: &str) -> Result<Conditions, Invalid> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let Some(workload) = Workload::named(name) else {
        let short_names = WORKLOADS.iter().map(|row| row.short_name);
        let names: Vec<&str> = WORKLOADS
            .iter()
            .map(|row| row.name)
            .chain(short_names)
            .collect();
        let hint = did_you_mean(name, names.iter().copied());
        return Err(Invalid(format!(
            "`{name}` is not a workload{hint}; allowed: {}, then options",
            names.join(", ")
        )));
    };
    let mut part = alone(workload);
    for word in words {
        let (flag, value) = word.split_once('=').unwrap_or((word, ""));
        let setting = by_flag(flag)?;
        check_fits(setting, flag, workload)?;
        let value = match (setting.kind, value) {
            (Kind::Switch(_), "") => "true",
            _ => value,
        };
        setting
            .set_text(&mut part, value)
            .map_err(|reason| Invalid(format!("{flag}: {reason}")))?;
    }
    Ok(part)
}

/// A workload with options, in the form that [`from_text`] reads, as an inline table of a study
/// file.
pub fn to_toml(text: &str) -> String {
    let mut words = text.split_whitespace();
    let word = words.next().unwrap_or_default();
    let workload = Workload::named(word).map_or(word, |workload| workload.name());
    let mut pairs = vec![("workload", format!("\"{workload}\""))];
    for word in words {
        let (flag, value) = word.split_once('=').unwrap_or((word, "true"));
        let Ok(setting) = by_flag(flag) else {
            continue;
        };
        pairs.retain(|(name, _)| *name != setting.name);
        pairs.push((setting.name, setting.kind.to_toml(value)));
    }
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn by_name(name: &str) -> Result<&'static Setting, Invalid> {
    find(
        name,
        |setting| setting.name == name,
        |setting| Some(setting.name),
    )
    .map_err(|(hint, allowed)| {
        Invalid(format!(
            "unknown setting `{name}`{hint}; allowed: {allowed}"
        ))
    })
}

fn by_flag(flag: &str) -> Result<&'static Setting, Invalid> {
    let long = |setting: &'static Setting| match setting.flag {
        Some(flag) => Some(flag.long),
        None => Some(setting.name),
    };
    let is_called = |setting: &Setting| match setting.flag {
        Some(known) => known.long == flag,
        None => setting.name == flag,
    };
    find(flag, is_called, long).map_err(|(hint, allowed)| {
        Invalid(format!(
            "unknown option `{flag}`{hint}; allowed: {allowed}, each as option=value"
        ))
    })
}

/// The setting that is called so; otherwise an error with near matches and all allowed names.
fn find(
    name: &str,
    is_called: impl Fn(&Setting) -> bool,
    name_of: fn(&'static Setting) -> Option<&'static str>,
) -> Result<&'static Setting, (String, String)> {
    let found = SETTINGS.iter().find(|setting| is_called(setting));
    found.ok_or_else(|| {
        let of_parts = SETTINGS.iter().filter(|setting| !setting.of_run);
        let names: Vec<&str> = of_parts.filter_map(name_of).collect();
        (did_you_mean(name, names.iter().copied()), names.join(", "))
    })
}

/// A background workload without further settings. Latency is recorded, because it is the purpose
/// of background transactions.
fn alone(workload: Workload) -> Conditions {
    Conditions {
        latency: workload.is_transactional(),
        ..Conditions::of(workload)
    }
}

/// Refuses settings that a background workload cannot have. `shown` is the setting as it was
/// written.
fn check_fits(setting: &Setting, shown: &str, workload: Workload) -> Result<(), Invalid> {
    if setting.of_run {
        return Err(Invalid(format!(
            "`{shown}` applies to the whole run and cannot be set for a background workload"
        )));
    }
    if workload.is_transactional()
        && matches!(setting.name, "message_size_bytes" | "receive_size_bytes")
    {
        let workload = workload.name();
        return Err(Invalid(format!(
            "`{shown}` is not for {workload}, which has sizes of requests and responses"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_toml(value: &Value) -> Result<Vec<Conditions>, Invalid> {
        from_value(value, "a list of tables")
    }
    use bitcost_model::conditions::Direction;

    #[test]
    fn a_part_is_the_same_in_a_study_and_on_the_command_line() {
        let toml: Value =
            "[{ workload = \"tcp_rr\", direction = \"reverse\", request_size_bytes = \"1KiB\", nodelay = true }]"
                .parse()
                .expect("TOML");
        let typed = from_text("rr direction=reverse request-size=1KiB nodelay").expect("a part");
        assert_eq!(from_toml(&toml), Ok(vec![typed.clone()]));
        assert_eq!(
            (typed.workload, typed.direction),
            (Workload::TcpRr, Direction::Reverse)
        );
        assert!(typed.latency && typed.nodelay && typed.request_size_bytes == 1024);
        assert_eq!(
            from_text("udp").map(|part| part.message_size_bytes),
            Ok(1024)
        );
        assert_eq!(
            from_text("tcp_rr latency=false").map(|part| part.latency),
            Ok(false)
        );
    }
}
