//! A study compared with a variant of itself is a study: its text is complete, and no setting is
//! varied twice.

use bitcost_model::settings::{Setting, find};
use bitcost_model::study::Label;
use bitcost_study::Study;

const TEXT: &str = include_str!("../../../../studies/not-all-mbits.toml");

fn study(text: &str) -> Study {
    Study::parse("mine.toml", text).expect("it reads")
}

fn typed(name: &str, value: &str) -> (&'static Setting, String) {
    (find(name).expect("a setting"), value.to_owned())
}

#[test]
fn every_cell_is_there_twice_and_the_text_alone_says_so() {
    let varied = study(TEXT).against("--congestion bbr", &[typed("congestion_control", "bbr")]);
    let varied = varied.expect("it varies");
    let again = study(&varied.text);
    assert_eq!((again.cells(), again.cells().len()), (varied.cells(), 16));
    let compared = again.compare.expect("a comparison");
    assert_eq!(
        (compared.old, compared.new),
        (
            Label::Text("base".into()),
            Label::Text("--congestion bbr".into())
        )
    );
    let [base, other] = [0, 1].map(|cell| varied.cells()[cell].conditions.clone());
    assert_eq!(base, study(TEXT).cells()[0].conditions);
    assert_ne!(base, other);
}

#[test]
fn a_variant_of_several_settings_adds_to_those_of_the_study() {
    let own = TEXT.replacen(
        "congestion_control",
        "sysctl = \"net.ipv4.tcp_sack=0\"\ncongestion_control",
        1,
    );
    let settings = [
        typed("sysctl", "net.ipv4.tcp_dsack=0"),
        typed("message_size_bytes", "64K"),
    ];
    let varies = study(&own).against("both", &settings).unwrap_err();
    assert!(varies.0.contains("by its factor"), "{}", varies.0);
    let varied = study(&own)
        .against("'it' \"is\"", &settings[..1])
        .expect("it varies");
    let requested = [0, 1].map(|cell| {
        let requests = varied.cells()[cell].conditions.host_settings.clone();
        let all = requests.iter().map(|request| request.setting.to_string());
        all.filter(|text| text.starts_with("net."))
            .collect::<Vec<_>>()
    });
    assert_eq!(requested[0], ["net.ipv4.tcp_sack=0"]);
    assert_eq!(
        requested[1],
        ["net.ipv4.tcp_sack=0", "net.ipv4.tcp_dsack=0"]
    );
}

#[test]
fn a_study_that_varies_nothing_can_be_held_against_a_setting() {
    let one =
        study("title = \"One\"\nquestion = \"Any?\"\n[table]\nmetrics = [\"throughput_mbps\"]\n");
    assert_eq!(
        (one.cells().len(), one.table.rows.as_str()),
        (1, "settings")
    );
    let varied = one
        .against("nodelay", &[typed("nodelay", "true")])
        .expect("it varies");
    let nodelay: Vec<bool> = varied
        .cells()
        .iter()
        .map(|cell| cell.conditions.nodelay)
        .collect();
    assert_eq!(
        (nodelay, varied.table.rows.as_str()),
        (vec![false, true], "options")
    );
    assert_eq!(study(&varied.text).cells(), varied.cells());
}
