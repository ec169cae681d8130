//! Statements, combinations that are left out, and lengths of a study, as people write them.

use bitcost_model::plan::{Lengths, Plan};
use bitcost_model::study::Label;
use bitcost_study::check::{Claim, Figure, FigureKind};
use bitcost_study::{Place, Study, Word};

const TEXT: &str = r#"title = "Two factors"
question = "Does it read?"
[workload]
duration_s = 2
[[factor]]
name = "message_size_bytes"
levels = [100, 200, 400]
[[factor]]
name = "kind"
levels = [{ label = "a", nodelay = true }, { label = "b", stop_messages = 50 }]
[[leave_out]]
kind = ["b"]
message_size_bytes = [200, 400]
[run]
blocks = 2
like_the_document = { blocks = 3, counts_pct = 1000 }
ci = { blocks = 1, duration_s = 0.25 }
[[check]]
statement = "Larger is faster"
[[check.claim]]
metric = "throughput_mbps"
ratio = [{ message_size_bytes = 400 }, { message_size_bytes = 100 }]
between = [1, 4]
"#;

fn read(text: &str) -> Study {
    Study::parse("mine.toml", text).expect("it reads")
}

fn error_of(text: &str) -> String {
    Study::parse("mine.toml", text)
        .expect_err("an error")
        .to_string()
}

#[test]
fn datagrams_have_their_usual_size_where_none_is_given() {
    let text = |own: &str| {
        format!(
            "title = \"a\"\nquestion = \"b\"\n[workload]\nduration_s = 1\n{own}[[factor]]\nname = \"workload\"\nlevels = [\"tcp_stream\", \"udp_stream\"]\n"
        )
    };
    let sizes = |own: &str| {
        let cells = read(&text(own)).cells().into_iter();
        let sizes = cells.map(|cell| cell.conditions.message_size_bytes);
        sizes.collect::<Vec<_>>()
    };
    assert_eq!(sizes(""), [131_072, 1024]);
    assert_eq!(sizes("message_size_bytes = 1400\n"), [1400, 1400]);
    let level = "[[factor]]\nname = \"message_size_bytes\"\nlevels = [700]\n";
    assert_eq!(sizes(level), [700, 700]);
    let over = error_of(&text("message_size_bytes = 131072\n"));
    assert!(over.contains("over the UDP limit"), "{over}");
}

#[test]
fn what_is_left_out_is_in_no_plan() {
    let study = read(TEXT);
    let names: Vec<String> = study.cells().iter().map(|cell| cell.name()).collect();
    assert_eq!(names, ["100 · a", "100 · b", "200 · a", "400 · a"]);
    assert_eq!(study.plan(1, Lengths::default()).runs.len(), 8);
}

#[test]
fn too_many_runs_are_named_at_the_most_blocks() {
    let cells: Vec<String> = (1..=20_000).map(|size| size.to_string()).collect();
    let text = |own: &str, named: &str, ci: &str| {
        format!(
            "title = \"a\"\nquestion = \"b\"\n[workload]\nworkload = \"tcp_stream\"\n[[factor]]\nname = \"message_size_bytes\"\nlevels = [{}]\n[run]\n{own}\nlike_the_document = {{ blocks = {named}, duration_s = 1 }}\nci = {{ blocks = {ci}, duration_s = 1 }}\n",
            cells.join(", ")
        )
    };
    for (text, line) in [
        (text("blocks = 51", "1", "1"), 9),
        (text("blocks = 51", "52", "51"), 10),
        (text("", "1", "51"), 11),
    ] {
        let error = error_of(&text);
        assert!(error.contains(&format!("mine.toml:{line}:")), "{error}");
        assert!(
            error.ends_with("in 100000 blocks; ask for fewer blocks or levels"),
            "{error}"
        );
    }
}

#[test]
fn named_lengths_change_blocks_windows_and_counts() {
    let study = read(TEXT);
    let plan = |lengths: Option<Lengths>| study.plan(1, lengths.expect("named"));
    let count = |plan: &Plan| {
        plan.cells
            .iter()
            .find_map(|cell| cell.conditions.stop_messages)
    };
    let document = plan(study.like_the_document);
    assert_eq!(
        (
            document.blocks,
            count(&document),
            document.cells[0].conditions.duration_ms
        ),
        (3, Some(500), 2000)
    );
    let bounded = document
        .cells
        .iter()
        .find(|cell| cell.conditions.is_bounded())
        .expect("a cell with a count");
    assert_eq!(
        bounded.conditions.duration_ms, 20_000,
        "ten times the count takes ten times as long"
    );
    let short = plan(study.ci);
    assert_eq!(
        (
            short.blocks,
            count(&short),
            short.cells[0].conditions.duration_ms
        ),
        (1, Some(50), 250)
    );
}

#[test]
fn a_claim_has_a_figure_and_bounds() {
    let study = read(TEXT);
    let level = |size| vec![("message_size_bytes".to_owned(), Label::Number(size))];
    let claim = Claim {
        metric: "throughput_mbps".into(),
        figure: Figure {
            kind: FigureKind::Ratio,
            sides: vec![level(400), level(100)],
        },
        at_least: Some(1.0),
        at_most: Some(4.0),
    };
    assert_eq!(study.checks[0].claims, [claim]);
}

#[test]
fn mistakes_are_named_with_their_line() {
    let mut answers = String::new();
    for (from, to) in [
        ("between = [1, 4]", "between = [4, 1]"),
        ("between = [1, 4]", ""),
        ("ratio = ", "rato = "),
        ("ratio = ", "value = {}\nratio = "),
        ("[{ message_size_bytes = 400 }, {", "[{ kind = \"a\" }, {"),
        ("[{ message_size_bytes = 400", "[{ message_size_bytes = 401"),
        ("kind = [\"b\"]", "knid = [\"b\"]"),
        ("kind = [\"b\"]\n", ""),
        ("duration_s = 0.25", "duration_s = 0.01"),
        ("counts_pct = 1000", "counts = 10"),
        ("[workload]\nduration_s = 2", "workload = 2"),
        ("[run]", "[[run]]"),
    ] {
        let error = error_of(&TEXT.replacen(from, to, 1));
        answers += &format!("{from} -> {to}\n{error}\n\n");
    }
    insta::assert_snapshot!(answers);
}

#[test]
fn an_unknown_metric_is_named_with_its_line() {
    let with = |list: &str| {
        format!("{TEXT}\n[report]\npictures = [{{ kind = \"boxes\", metrics = {list} }}]\n")
    };
    let study = read(&with("[\"retransmits\", \"rtt_us\"]"));
    let pictures = study.pictures.expect("pictures");
    assert_eq!(pictures[0].metrics, ["retransmits", "rtt_us"]);
    let known = ["retransmits", "min_rtt_us", "throughput_mbps"];
    let text = with("[\"retransmits\", \"rtt_us\"]");
    let error = &Study::read("mine.toml", &text, None, Some(&known)).unwrap_err()[0];
    let line = with("").lines().count();
    assert_eq!(error.line, line, "{error}");
    assert!(
        error
            .message
            .contains("unknown metric `rtt_us`; did you mean `min_rtt_us`?")
    );
}

const ANSWER: &str = r#"
[[answer]]
metric = ["throughput_mbps", "rtt_us"]
of = { message_size_bytes = 100, kind = "a" }
to = { message_size_bytes = 400, kind = "a" }
words = "It is {of}, {ratio}."
"#;

#[test]
fn an_answer_is_one_or_two_sentences_about_cells() {
    let study = read(&format!("{TEXT}{ANSWER}"));
    let [sentence] = &study.sentences[..] else {
        panic!("{:?}", study.sentences);
    };
    let text = |text: &str| Word::Text(text.to_owned());
    assert_eq!(
        sentence.words,
        [
            text("It is "),
            Word::Place(Place::Of),
            text(", "),
            Word::Place(Place::Ratio),
            text(".")
        ]
    );
    assert_eq!(sentence.metrics, ["throughput_mbps", "rtt_us"]);
    let table = read(&format!(
        "{TEXT}{}",
        ANSWER.replace("[[answer]]", "[answer]")
    ));
    assert_eq!(table.sentences, study.sentences);
    assert_eq!(read(&format!("{TEXT}{ANSWER}{ANSWER}")).sentences.len(), 2);
    assert!(read(TEXT).sentences.is_empty());
    // The words say nothing of a factor that is added to compare with.
    let compared = "[[factor]]\nname = \"cork\"\nlevels = [{ label = \"x\" }, { label = \"y\" }]\n[compare]\nfactor = \"cork\"\nold = \"x\"\nnew = \"y\"\n";
    assert!(
        read(&format!("{TEXT}{ANSWER}{compared}"))
            .sentences
            .is_empty()
    );
}
