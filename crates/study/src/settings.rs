//! The settings that a study may vary or fix, and that `bitcost test` has as options, as values of a study file.

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::settings::{Kind, Number, Unit, named};
use toml_edit::Value;

/// Sets one setting by name to a value of a study file.
pub fn set(conditions: &mut Conditions, name: &str, value: &Value) -> Result<(), Invalid> {
    let setting = named(name)?;
    let kind = setting.kind;
    let refused = |why: String| Invalid(format!("`{name}` is {}{why}", shown(value)));
    let not_allowed = || {
        let allowed = kind.allowed_instead_of(value.as_str().unwrap_or_default());
        refused(format!("; {allowed}"))
    };
    let texts: Option<Vec<String>> = match (kind, value) {
        (Kind::Background, Value::Array(all)) => all.iter().map(|one| text(kind, one)).collect(),
        _ => text(kind, value).map(|text| vec![text]),
    };
    if let Kind::Background = kind {
        conditions.background.clear();
    }
    for text in texts.ok_or_else(not_allowed)? {
        match kind {
            Kind::Host(_) | Kind::Background => setting
                .set_text(conditions, &text)
                .map_err(|why| refused(format!(": {why}")))?,
            _ => kind.set(conditions, &text).ok_or_else(not_allowed)?,
        }
    }
    Ok(())
}

/// A value of a study file as a command line has it. Times are in seconds in both, with decimals.
fn text(kind: Kind, value: &Value) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::{Direction, Workload};

    use super::*;

    #[test]
    fn background_workloads_are_written_as_on_the_command_line() {
        let read = |toml: &str| {
            let mut conditions = Conditions::default();
            let value: Value = toml.parse().expect("TOML");
            set(&mut conditions, "background", &value).map(|()| conditions.background)
        };
        let rr = "rr direction=reverse request-size=1KiB nodelay";
        let parts = read(&format!("[\"udp\", \"{rr}\", \"tcp_rr latency=false\"]"));
        let parts = parts.expect("three workloads");
        assert_eq!(parts[0].message_size_bytes, 1024);
        assert_eq!(
            (parts[1].workload, parts[1].direction),
            (Workload::TcpRr, Direction::Reverse)
        );
        assert!(parts[1].latency && parts[1].nodelay && parts[1].request_size_bytes == 1024);
        assert!(!parts[2].latency);
        assert_eq!(read(&format!("\"{rr}\"")), Ok(vec![parts[1].clone()]));
        for (wrong, why) in [
            ("\"rrr\"", "`rrr` is not a workload; did you mean `rr`"),
            ("[1, [\"rr\"]]", "allowed: a text such as"),
            ("\"rr warmup=1\"", "applies to the whole run"),
        ] {
            let found = read(wrong).expect_err("refused").0;
            assert!(
                found.starts_with("`background` is ") && found.contains(why),
                "{found}"
            );
        }
    }
}
