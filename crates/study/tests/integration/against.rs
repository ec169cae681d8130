//! A study compared with a variant of itself is a study: its text is complete, and no setting is
//! varied twice.

use bitcost_model::study::Label;
use bitcost_study::Study;

const TEXT: &str = include_str!("../../../../studies/not-all-mbits.toml");

fn study(text: &str) -> Study {
    Study::parse("mine.toml", text).expect("it reads")
}

#[test]
fn every_cell_is_there_twice_and_the_text_alone_says_so() {
    let varied = study(TEXT).against("congestion_control", "bbr");
    let varied = varied.expect("it varies");
    let again = study(&varied.text);
    assert_eq!((again.cells(), again.cells().len()), (varied.cells(), 16));
    let compared = again.compare.expect("a comparison");
    assert_eq!(
        (compared.old, compared.new),
        (Label::Text("base".into()), Label::Text("bbr".into()))
    );
    let [base, other] = [0, 1].map(|cell| varied.cells()[cell].conditions.clone());
    assert_eq!(base, study(TEXT).cells()[0].conditions);
    assert_ne!(base, other);
}

#[test]
fn one_offload_of_a_set_leaves_the_others_as_they_were() {
    let on = TEXT.replacen(
        "congestion_control",
        "offloads = \"on\"\ncongestion_control",
        1,
    );
    let only = on
        .replace(", offloads = \"on\",", ",")
        .replace(", offloads = \"off\",", ",");
    let varied = study(&only).against("tso", "off").expect("it varies");
    let requested = [0, 1].map(|cell| {
        let requests = varied.cells()[cell].conditions.host_settings.clone();
        let all = requests.iter().map(|request| request.setting.to_string());
        all.collect::<Vec<_>>()
    });
    assert_eq!(requested, [["on"], ["gro on, gso on, tso off"]]);
}

#[test]
fn a_study_that_varies_nothing_can_be_held_against_a_setting() {
    let one =
        study("title = \"One\"\nquestion = \"Any?\"\n[table]\nmetrics = [\"throughput_mbps\"]\n");
    assert_eq!(
        (one.cells().len(), one.table.rows.as_str()),
        (1, "settings")
    );
    let varied = one.against("nodelay", "true").expect("it varies");
    let nodelay: Vec<bool> = varied
        .cells()
        .iter()
        .map(|cell| cell.conditions.nodelay)
        .collect();
    assert_eq!(
        (nodelay, varied.table.rows.as_str()),
        (vec![false, true], "nodelay")
    );
    assert_eq!(study(&varied.text).cells(), varied.cells());
}

#[test]
fn what_replaced_a_setting_is_named() {
    let gone = study(TEXT).against("program", "./old").unwrap_err();
    assert!(gone.0.starts_with("`program` is gone; "), "{}", gone.0);
}
