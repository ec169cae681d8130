//! Texts that people write: lab files, MiniEdit files, studies, and the values of settings.

use std::hint::black_box;

use model::conditions::Conditions;
use model::miniedit::{Options, import};
use model::place::{Ports, parse_cpus};
use model::settings::SETTINGS;
use model::sizes::Sizes;
use model::study::Study;
use model::topology::{Ground, parse, to_toml};
use model::units::{parse_bytes, parse_duration, parse_rate, show_duration};

use super::text;

/// Whatever text a lab file has, it is read or refused, and what was read reads back from what is written of it.
pub fn lab(bytes: &[u8]) {
    if let Ok(topology) = parse("fuzz.toml", text(bytes)) {
        let _ = topology.lints(&Ground::default());
        let written = to_toml(&topology);
        assert_eq!(parse("fuzz.toml", &written).ok(), Some(topology), "{written}");
    }
}

/// Whatever bytes a MiniEdit file has, it is read or refused, and what was read reads back from our own lab file.
pub fn miniedit(bytes: &[u8]) {
    if let Ok(imported) = import(text(bytes), Options { mininet_compat: true }) {
        let written = to_toml(&imported.topology);
        assert_eq!(parse("fuzz.toml", &written).ok(), Some(imported.topology), "{written}");
    }
}

/// Whatever text a study has, it is read or refused, and what was read has cells.
pub fn study(bytes: &[u8]) {
    let text = text(bytes);
    if let Ok(study) = Study::parse("fuzz.toml", text) {
        assert!(!study.cells().is_empty());
        assert_eq!(study.text, text);
    }
}

/// The name of a setting, such as `qdisc`, `sysctl`, `stress`, or `beside`, then a space and its value as on a command line: it is
/// taken or refused with words that say why, and what was taken is checked.
pub fn settings(bytes: &[u8]) {
    let (name, value) = text(bytes).split_once(' ').unwrap_or_default();
    let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else { return };
    let mut conditions = Conditions::default();
    match setting.set_text(&mut conditions, value) {
        Ok(()) => drop(black_box(conditions.check(1500))),
        Err(why) => assert!(!why.is_empty()),
    }
}

/// Sizes, rates, times, ports and lists of CPUs as options take them.
pub fn values(bytes: &[u8]) {
    let text = text(bytes);
    black_box((parse_bytes(text).is_ok(), parse_rate(text).is_ok()));
    if let Ok(duration) = parse_duration(text) {
        assert!(!show_duration(duration).is_empty());
    }
    if let Ok(sizes) = Sizes::parse(text) {
        assert!(sizes.smallest() <= sizes.largest() && sizes.mean() <= f64::from(sizes.largest()), "{text}");
    }
    if let Some(ports) = Ports::parse(text) {
        assert!(ports.count() >= 1, "{text}");
    }
    black_box(parse_cpus(text));
}
