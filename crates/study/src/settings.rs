//! The settings that a study may vary or fix, and that `bitcost test` has as options, as values of a study file.

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::settings::{
    Kind, Number, Setting, Unit, alone, by_flag, by_name, check_fits, named,
};
use bitcost_model::workload::Workload;
use toml_edit::{InlineTable, Value};

/// Sets one setting by name to a value of a study file.
pub fn set(conditions: &mut Conditions, name: &str, value: &Value) -> Result<(), Invalid> {
    let setting = named(name)?;
    match setting.kind {
        Kind::Background => {
            let read = background(value, &setting.kind.allowed());
            conditions.background =
                read.map_err(|reason| Invalid(format!("`{name}`: {reason}")))?;
            Ok(())
        }
        _ => set_value(setting, conditions, value),
    }
}

fn set_value(setting: &Setting, conditions: &mut Conditions, value: &Value) -> Result<(), Invalid> {
    let (name, kind) = (setting.name, setting.kind);
    let refused = |why: &str| Invalid(format!("`{name}` is {}{why}", shown(value)));
    let text = plain_text(kind, value);
    if let (Kind::Host(grammar), Some(text)) = (kind, &text) {
        return grammar
            .ask(&mut conditions.host_settings, text)
            .map_err(|why| refused(&format!(": {why}")));
    }
    let set = text.and_then(|text| kind.set(conditions, &text));
    set.ok_or_else(|| {
        let allowed = kind.allowed_instead_of(value.as_str().unwrap_or_default());
        refused(&format!("; {allowed}"))
    })
}

/// A value of a study file as a command line has it. Times are in seconds in both, with decimals.
fn plain_text(kind: Kind, value: &Value) -> Option<String> {
    let is_time = matches!(
        kind,
        Kind::Number(Number {
            unit: Unit::Milliseconds,
            ..
        })
    );
    match (kind, value) {
        (Kind::Switch(_), value) => Some(value.as_bool()?.to_string()),
        (_, Value::Integer(number)) => Some(number.value().to_string()),
        (_, Value::Float(number)) if is_time => Some(number.value().to_string()),
        (_, Value::String(text)) => Some(text.value().clone()),
        _ => None,
    }
}

/// A value as its author wrote it, without the comments and spaces around it.
pub fn shown(value: &Value) -> String {
    value.clone().decorated("", "").to_string()
}

/// Reads a list of tables of settings; `allowed` describes the form of such a list in errors.
fn background(value: &Value, allowed: &str) -> Result<Vec<Conditions>, Invalid> {
    let error = || Invalid(format!("it is {}; allowed: {allowed}", shown(value)));
    let tables = value.as_array().ok_or_else(error)?;
    tables
        .iter()
        .map(|table| part(table.as_inline_table().ok_or_else(error)?, allowed))
        .collect()
}

fn part(table: &InlineTable, allowed: &str) -> Result<Conditions, Invalid> {
    let value = table
        .get("workload")
        .ok_or_else(|| Invalid(format!("it has no workload; allowed: {allowed}")))?;
    let mut trial = Conditions::default();
    set_value(by_name("workload")?, &mut trial, value)?;
    let mut part = alone(trial.workload);
    for (name, value) in table.iter().filter(|(name, _)| *name != "workload") {
        let setting = by_name(name)?;
        check_fits(setting, name, part.workload)?;
        set_value(setting, &mut part, value)?;
    }
    Ok(part)
}

/// A workload with options, in the form of a command line, as an inline table of a study file.
pub(crate) fn background_table(text: &str) -> InlineTable {
    let mut words = text.split_whitespace();
    let word = words.next().unwrap_or_default();
    let workload = Workload::named(word).map_or(word, |workload| workload.name());
    let mut table = InlineTable::from_iter([("workload", workload)]);
    for word in words {
        let (flag, value) = word.split_once('=').unwrap_or((word, "true"));
        let Ok(setting) = by_flag(flag) else {
            continue;
        };
        table.remove(setting.name);
        table.insert(setting.name, to_value(setting.kind, value));
    }
    table
}

/// A value that was typed on the command line, in the form of a study file.
pub(crate) fn to_value(kind: Kind, typed: &str) -> Value {
    match kind {
        // One without a value is on.
        Kind::Switch(_) => (typed != "false").into(),
        _ => typed.into(),
    }
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Direction;

    use super::*;

    #[test]
    fn a_background_workload_is_the_same_in_a_study_and_on_the_command_line() {
        let toml: Value =
            "[{ workload = \"tcp_rr\", direction = \"reverse\", request_size_bytes = \"1KiB\", nodelay = true }]"
                .parse()
                .expect("TOML");
        let typed = |text: &str| {
            let mut conditions = Conditions::default();
            let setting = named("background").expect("a setting");
            setting.set_text(&mut conditions, text).expect("a part");
            conditions.background.remove(0)
        };
        let part = typed("rr direction=reverse request-size=1KiB nodelay");
        let mut read = Conditions::default();
        assert_eq!(set(&mut read, "background", &toml), Ok(()));
        assert_eq!(read.background, std::slice::from_ref(&part));
        assert_eq!(
            (part.workload, part.direction),
            (Workload::TcpRr, Direction::Reverse)
        );
        assert!(part.latency && part.nodelay && part.request_size_bytes == 1024);
        assert_eq!(typed("udp").message_size_bytes, 1024);
        assert!(!typed("tcp_rr latency=false").latency);
    }
}
