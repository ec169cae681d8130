//! Texts that people write: lab files, MiniEdit files, studies, and the values of settings.

use std::hint::black_box;

use bitcost_import::miniedit::import;
use bitcost_model::conditions::Conditions;
use bitcost_model::cpu_list::parse_cpu_list;
use bitcost_model::place::Ports;
use bitcost_model::settings::SETTINGS;
use bitcost_model::topology::Topology;
use bitcost_model::units::{parse_bytes, parse_duration, parse_rate, show_duration};
use bitcost_study::Study;
use bitcost_study::topology::{parse, to_toml};

use super::text;

/// A lab file with any content is read or refused, and a topology that was read survives writing
/// and reading.
pub fn lab(bytes: &[u8]) {
    if let Ok(topology) = parse("fuzz.toml", text(bytes)) {
        let written = to_toml(&topology);
        assert_eq!(
            parse("fuzz.toml", &written).ok(),
            Some(topology),
            "{written}"
        );
    }
}

/// A MiniEdit file with any content is read or refused, and its topology survives writing and
/// reading as a lab file.
pub fn miniedit(bytes: &[u8]) {
    if let Ok(imported) = import(text(bytes)) {
        let written = to_toml(&imported.topology);
        // A lab file lists its nodes by kind.
        let by_name = |mut topology: Topology| {
            topology.nodes.sort_by(|one, next| one.name.cmp(&next.name));
            topology
        };
        assert_eq!(
            parse("fuzz.toml", &written).ok().map(by_name),
            Some(by_name(imported.topology)),
            "{written}"
        );
    }
}

/// A study with any content is read or refused, and a study that was read has cells.
pub fn study(bytes: &[u8]) {
    let text = text(bytes);
    if let Ok(study) = Study::parse("fuzz.toml", text) {
        assert!(!study.cells().is_empty());
        assert_eq!(study.text, text);
    }
}

/// The name of a setting, such as `qdisc`, `sysctl` or `stress`, then a space and its value as on a
/// command line: it is accepted or refused with a reason, and an accepted value is checked.
pub fn settings(bytes: &[u8]) {
    let (name, value) = text(bytes).split_once(' ').unwrap_or_default();
    let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
        return;
    };
    let mut conditions = Conditions::default();
    match setting.set_text(&mut conditions, value) {
        Ok(()) => drop(black_box(conditions.check(1500))),
        Err(why) => assert!(!why.0.is_empty()),
    }
}

/// Sizes, rates, times, ports and lists of CPUs as options accept them.
pub fn values(bytes: &[u8]) {
    let text = text(bytes);
    black_box((parse_bytes(text).is_ok(), parse_rate(text).is_ok()));
    if let Ok(duration) = parse_duration(text) {
        assert!(!show_duration(duration).is_empty());
    }
    if let Some(ports) = Ports::parse(text) {
        assert!(ports.count() >= 1, "{text}");
    }
    black_box(parse_cpu_list(text));
}
