//! MiniEdit's files: the lab that Mininet would make of them, the warnings, and that a truncated file is
//! refused.

use bitcost_import::miniedit::{Imported, import};
use bitcost_study::topology::{parse, to_toml};

const LAB15: &str = include_str!("../miniedit/lab15.mn");
const LOOP: &str = include_str!("../miniedit/loop.mn");
const CAMPUS: &str = include_str!("../miniedit/campus.mn");

fn error_of(text: &str) -> String {
    import(text).expect_err(text).0
}

/// The lab as a lab file, and what else is said of it.
fn shown(imported: &Imported) -> String {
    let warnings = imported
        .warnings
        .iter()
        .map(|warning| format!("warning: {warning}\n"));
    let said: String = warnings.collect();
    format!("{}\n{said}", to_toml(&imported.topology))
}

/// After an intended change `INSTA_UPDATE=always cargo test -p bitcost-import` writes the new text;
/// read its diff.
#[test]
fn each_file_is_the_lab_that_mininet_makes_of_it() {
    for (name, text) in [("lab15", LAB15), ("loop", LOOP), ("campus", CAMPUS)] {
        let imported = import(text).unwrap();
        insta::assert_snapshot!(name, shown(&imported));
        let again = parse("again.toml", &to_toml(&imported.topology)).unwrap();
        assert_eq!(again, imported.topology, "the lab file has all of it");
    }
}

#[test]
fn what_mininet_takes_otherwise_than_it_was_meant_is_said_with_its_place() {
    let with = |opts: &str| {
        LAB15.replacen(
            "\"opts\": {},\n            \"src\": \"s1\"",
            &format!("\"opts\": {opts},\n            \"src\": \"s1\""),
            1,
        )
    };
    let said: Vec<String> = [
        "{\"delay\": \"20\"}",
        "{\"delay\": 20}",
        "{\"loss\": -1}",
        "{\"loss\": \"101\"}",
    ]
    .iter()
    .map(|opts| {
        format!(
            "{opts}: {}",
            import(&with(opts)).unwrap().warnings.join("; ")
        )
    })
    .collect();
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_name_in_a_warning_stays_in_its_line() {
    let text = CAMPUS.replace("\"hostname\": \"h9\"", "\"hostname\": \"h9\\nx\"");
    let warnings = import(&text).unwrap().warnings;
    let is_own = |warning: &String| warning.starts_with("host h9\\nx: it has no link");
    assert!(warnings.iter().any(is_own), "{warnings:?}");
    assert!(!warnings.concat().contains('\n'), "{warnings:?}");
}

#[test]
fn a_truncated_file_is_refused_wherever_it_ends() {
    let whole = LAB15.trim_end();
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        assert!(
            error_of(&whole[..end]).contains("not a whole JSON document"),
            "{end}"
        );
    }
}
