//! What goes on beside a run's own workload, as studies and the command line write it.

use toml_edit::Value;

use crate::conditions::{Conditions, Workload};
use crate::near::did_you_mean;
use crate::settings::{self, Kind, SETTINGS, Setting};

/// Settings of the whole run: a part beside has those of the first one.
const OF_THE_RUN: [&str; 16] = [
    "beside",
    "program",
    "offloads",
    "mtu_bytes",
    "qdisc",
    "sysctl",
    "default_congestion_control",
    "channels",
    "coalesce",
    "governor",
    "stress",
    "warmup_s",
    "duration_s",
    "stop_bytes",
    "stop_messages",
    "stop_transactions",
];

/// How a part is written in studies.
pub const IN_STUDIES: &str = "a list of tables such as [{ workload = \"tcp_rr\", direction = \"reverse\" }]";

/// Reads a list of tables of settings.
///
/// # Errors
/// A sentence that says what was found and what is allowed, with near matches.
pub fn of_toml(value: &Value) -> Result<Vec<Conditions>, String> {
    let error = || format!("it is {}; allowed: {IN_STUDIES}", settings::shown(value));
    let tables = value.as_array().ok_or_else(error)?;
    tables.iter().map(|table| of_table(table.as_inline_table().ok_or_else(error)?)).collect()
}

fn of_table(table: &toml_edit::InlineTable) -> Result<Conditions, String> {
    let workload = table.get("workload").ok_or_else(|| format!("it has no workload; allowed: {IN_STUDIES}"))?;
    let mut trial = Conditions::default();
    settings::set(&mut trial, "workload", workload)?;
    let mut part = alone(trial.workload);
    for (name, value) in table.iter().filter(|(name, _)| *name != "workload") {
        fits(name, name, part.workload)?;
        settings::set(&mut part, name, value)?;
    }
    Ok(part)
}

/// Reads a workload and settings by the names of their options: `tcp_rr request-size=64 direction=reverse`.
///
/// # Errors
/// A sentence that says what was found and what is allowed, with near matches.
pub fn of_text(text: &str) -> Result<Conditions, String> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let known = || Workload::NAMES.into_iter().chain(Workload::SHORT_NAMES);
    let Some((_, workload)) = known().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = known().map(|(name, _)| name).collect();
        let hint = did_you_mean(name, names.iter().copied());
        return Err(format!("`{name}` is no workload{hint}; allowed: {}, then options", names.join(", ")));
    };
    let mut part = alone(workload);
    for word in words {
        let (flag, value) = word.split_once('=').unwrap_or((word, ""));
        let setting = setting_of(flag)?;
        fits(setting.name, flag, workload)?;
        let value = if value.is_empty() && matches!(setting.kind, Kind::Switch) { "true" } else { value };
        setting.set_text(&mut part, value).map_err(|reason| format!("{flag}: {reason}"))?;
    }
    Ok(part)
}

/// The setting of an option.
fn setting_of(flag: &str) -> Result<&'static Setting, String> {
    let long = |setting: &Setting| setting.flag.map(|flag| flag.long);
    let allowed = SETTINGS.iter().filter(|setting| !OF_THE_RUN.contains(&setting.name));
    SETTINGS.iter().find(|setting| long(setting) == Some(flag)).ok_or_else(|| {
        let flags: Vec<&str> = allowed.filter_map(long).collect();
        let hint = did_you_mean(flag, flags.iter().copied());
        format!("unknown option `{flag}`{hint}; allowed: {}, each as option=value", flags.join(", "))
    })
}

/// A part without further settings. Times are recorded, for which transactions are put beside.
fn alone(workload: Workload) -> Conditions {
    Conditions { latency: workload.is_transactional(), ..Conditions::of(workload) }
}

/// Refuses what a part beside cannot have for itself. `shown` is how the setting was written.
fn fits(name: &str, shown: &str, workload: Workload) -> Result<(), String> {
    if OF_THE_RUN.contains(&name) {
        return Err(format!("`{shown}` is of the whole run and cannot be set for a part beside it"));
    }
    if workload.is_transactional() && matches!(name, "message_size_bytes" | "receive_size_bytes") {
        let workload = workload.name();
        return Err(format!("`{shown}` is not for {workload}, which has sizes of requests and responses"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Direction;

    #[test]
    fn a_part_is_the_same_in_a_study_and_on_the_command_line() {
        let toml: Value =
            "[{ workload = \"tcp_rr\", direction = \"reverse\", request_size_bytes = \"1KiB\", nodelay = true }]"
                .parse()
                .expect("TOML");
        let typed = of_text("rr direction=reverse request-size=1KiB nodelay").expect("a part");
        assert_eq!(of_toml(&toml), Ok(vec![typed.clone()]));
        assert_eq!((typed.workload, typed.direction), (Workload::TcpRr, Direction::Reverse));
        assert!(typed.latency && typed.nodelay && typed.request_size_bytes == 1024);
        assert_eq!(of_text("udp").map(|part| part.message_size_bytes), Ok(1024));
        assert_eq!(of_text("tcp_rr latency=false").map(|part| part.latency), Ok(false));
    }

    #[test]
    fn mistakes_name_what_is_allowed_and_what_resembles_it() {
        for (text, wanted) in [
            ("", "`` is no workload; allowed: tcp_stream"),
            ("tcp_rt", "did you mean `tcp_rr`"),
            ("rr request-sise=1", "did you mean `request-size`"),
            ("rr request-size=0", "request-size: `0` is not possible here; allowed: bytes from 1"),
            ("rr request-size", "request-size: `` is not possible here"),
            ("rr time=5", "`time` is of the whole run"),
            ("rr message-size=5", "`message-size` is not for tcp_rr"),
            ("tcp beside=rr", "`beside` is of the whole run"),
        ] {
            let found = of_text(text).expect_err(text);
            assert!(found.contains(wanted), "{text}: {found}");
        }
        for (toml, wanted) in [
            ("5", "it is 5; allowed: a list of tables"),
            ("[{ direction = \"reverse\" }]", "no workload"),
            ("[{ workload = \"tcp_rr\", duration_s = 2 }]", "`duration_s` is of the whole run"),
            ("[{ workload = \"tcp_rr\", direction = \"revers\" }]", "did you mean `reverse`"),
        ] {
            let found = of_toml(&toml.parse().expect("TOML")).expect_err(toml);
            assert!(found.contains(wanted), "{toml}: {found}");
        }
    }
}
