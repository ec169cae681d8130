//! Which cells are compared with which, and the sentences on differences other than their levels.

use std::collections::BTreeMap;

use crate::common::{
    Made, STUDY, compared, comparison_text, ended, execution, log, plain, records, text,
};
use bitcost_analysis::compare::{Side, within};
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_model::counters::SoftirqTime;
use bitcost_model::event::Event;
use bitcost_model::imported::ImportedRun;
use bitcost_model::plan::{Plan, PlannedRun};
use bitcost_model::record::{CpuTicks, InEffect, RECEIVE_CPUS, SOFTIRQ_TIME, SOFTIRQS_TIMED};
use bitcost_model::study::{Cell, Label};
use bitcost_testkit::assert_says;

fn throughput() -> [&'static Metric; 1] {
    [metric("throughput_mbps").expect("a metric")]
}

fn word(factor: &str, level: &str) -> (String, Label) {
    (factor.to_owned(), Label::Text(level.to_owned()))
}

fn size(bytes: i64) -> (String, Label) {
    ("message_size_bytes".to_owned(), Label::Number(bytes))
}

fn whole(study: &str) -> Vec<Event> {
    log(study, 3, |cell, planned| ended(cell, &plain(cell, planned)))
}

#[test]
fn a_side_has_the_others_levels_of_what_it_does_not_name() {
    let events = whole(STUDY);
    let execution = execution("x", &events);
    let (old, new) = (
        Side(vec![word("transport", "UDP"), size(8192)]),
        Side(vec![word("transport", "TCP")]),
    );
    let found = within(&execution, &old, &new, &throughput(), 3.0);
    assert_eq!(found.new, "transport=TCP message_size_bytes=8192");
    assert_eq!((found.cells.len(), found.unmatched.len()), (1, 0));
    let change = &found.cells[0].changes[0];
    let medians = (change.old_median, change.new_median);
    assert_eq!(medians.0, medians.1, "both have 8192 bytes: {medians:?}");
    assert!(!old.is_same_as(&new) && Side(vec![size(8192)]).is_same_as(&old));
}

#[test]
fn every_pair_of_cells_is_compared_once() {
    let events = whole(STUDY);
    let execution = execution("x", &events);
    for (old, new) in [
        (word("transport", "UDP"), word("transport", "TCP")),
        (size(1024), size(8192)),
    ] {
        let found = within(
            &execution,
            &Side(vec![old]),
            &Side(vec![new]),
            &throughput(),
            3.0,
        );
        let mut names: Vec<String> = found.cells.iter().map(|cell| cell.name()).collect();
        names.dedup();
        assert_eq!(
            (names.len(), found.unmatched.len()),
            (2, 0),
            "{}",
            comparison_text(&found, u16::MAX)
        );
    }
}

#[test]
fn cells_of_the_new_side_alone_are_told() {
    let study =
        format!("{STUDY}\n[[leave_out]]\ntransport = [\"UDP\"]\nmessage_size_bytes = [8192]\n");
    let events = whole(&study);
    let (old, new) = (
        Side(vec![word("transport", "UDP")]),
        Side(vec![word("transport", "TCP")]),
    );
    let found = within(&execution("x", &events), &old, &new, &throughput(), 3.0);
    let text = comparison_text(&found, u16::MAX);
    assert_says(&text, &["- only in transport=TCP: 8192 · TCP\n"]);
    assert_eq!(
        (found.cells.len(), found.lost_cells()),
        (1, 0),
        "a study says which cells there are"
    );
    let (whole, part) = (whole(STUDY), events);
    let lost = compared(("whole", &whole), ("part", &part), &throughput());
    assert_eq!((lost.cells.len(), lost.lost_cells()), (3, 1));
}

#[test]
fn settings_that_differ_are_told_once() {
    let (old, new) = (
        whole(STUDY),
        whole(&STUDY.replace("duration_s = 2", "duration_s = 1")),
    );
    let found = compared(("old", &old), ("new", &new), &throughput());
    assert_eq!(found.setting_differences, ["duration: was 2 s, is 1 s"]);
    let text = comparison_text(&found, u16::MAX);
    assert_says(&text, &["- settings differ: duration: was 2 s, is 1 s\n"]);
    assert_says(&text, &["- old: it did not finish\n"]);
}

#[test]
fn a_factor_of_one_side_alone_is_no_hindrance() {
    let further = "[[factor]]\nname = \"nodelay\"\nlevels = [{ label = \"on\", nodelay = true }]\n";
    let (old, new) = (whole(STUDY), whole(&format!("{STUDY}\n{further}")));
    let found = compared(("old", &old), ("new", &new), &throughput());
    assert_eq!((found.cells.len(), found.unmatched.len()), (4, 0));
    assert_eq!(found.known_to_one, ["recorded in new alone: nodelay on"]);
    // With two levels, a cell could match either.
    let both = further.replace(
        "levels = [",
        "levels = [{ label = \"off\", nodelay = false }, ",
    );
    let new = whole(&format!("{STUDY}\n{both}"));
    let found = compared(("old", &old), ("new", &new), &throughput());
    assert_eq!((found.cells.len(), found.lost_cells()), (0, 4));
    let text = comparison_text(&found, u16::MAX);
    assert_says(&text, &["could be 1024 · UDP · off or 1024 · UDP · on"]);
}

/// An execution imported from files: `varied` has its factors, `constant` the levels that all its
/// runs have.
fn imported(varied: &[Vec<(String, Label)>], constant: &[(String, Label)]) -> Vec<Event> {
    let mut factors = String::new();
    for (name, _) in &varied[0] {
        let levels = varied.iter().flatten().filter(|(factor, _)| factor == name);
        let mut levels: Vec<String> = levels
            .map(|(_, label)| serde_json::json!(label).to_string())
            .collect();
        levels.sort();
        levels.dedup();
        let levels: Vec<String> = levels
            .iter()
            .map(|label| format!("{{ label = {label} }}"))
            .collect();
        factors += &format!(
            "[[factor]]\nname = \"{name}\"\nlevels = [{}]\n",
            levels.join(", ")
        );
    }
    let mut events = whole(&format!(
        "title = \"x\"\nquestion = \"x?\"\n{factors}[table]\nrows = \"{}\"\n",
        varied[0][0].0
    ));
    let cell = |levels: &Vec<(String, Label)>| Cell {
        levels: levels.clone(),
        conditions: Default::default(),
    };
    let cells: Vec<Cell> = varied.iter().map(cell).collect();
    let runs = (0..2 * cells.len()).map(|run| (run as u32, run % cells.len()));
    let runs: Vec<PlannedRun> = runs
        .map(|(index, cell)| PlannedRun {
            index,
            block: index,
            cell,
        })
        .collect();
    events.retain(|event| matches!(event, Event::ExecutionBegan { .. }));
    for planned in &runs {
        let levels = varied[planned.cell]
            .iter()
            .filter(|(_, level)| level.to_string() != "not said");
        let run = ImportedRun {
            tool: "iperf3".into(),
            levels: levels.chain(constant).cloned().collect(),
            figures: BTreeMap::from([(
                "throughput_mbps".to_owned(),
                100.0 + f64::from(planned.index),
            )]),
            ..ImportedRun::default()
        };
        events.push(Event::RunImported {
            run: planned.index,
            imported: Box::new(run),
        });
    }
    events.insert(
        1,
        Event::Planned {
            plan: Plan {
                seed: 0,
                blocks: 2,
                lengths: None,
                is_profiled: false,
                cells,
                runs,
            },
        },
    );
    events
}

#[test]
fn files_match_by_what_they_say_whatever_varies() {
    let protocols = |name: &str| vec![word("protocol", name)];
    let both = imported(&[protocols("tcp"), protocols("udp")], &[size(1024)]);
    let alone = imported(
        &[vec![word("tool", "iperf3")]],
        &[word("protocol", "tcp"), word("direction", "forward")],
    );
    let found = compared(("both", &both), ("alone", &alone), &throughput());
    let text = comparison_text(&found, u16::MAX);
    assert_eq!(
        (found.cells.len(), found.cells[0].name().starts_with("tcp")),
        (1, true)
    );
    assert_says(
        &text,
        &["- recorded in both alone: message_size_bytes 1024\n"],
    );
    assert_says(&text, &["- only in both: udp\n"]);
    // A cell whose files do not give the level may have any level.
    let unsaid = imported(&[protocols("tcp"), protocols("not said")], &[]);
    let found = compared(("both", &both), ("unsaid", &unsaid), &throughput());
    assert!(found.cells.is_empty() && found.unmatched.iter().any(|only| only.why.is_some()));
}

#[test]
fn files_match_our_own_cells_by_their_settings() {
    let own = whole(STUDY);
    let files = imported(
        &[vec![size(1024)], vec![size(8192)]],
        &[word("protocol", "udp"), word("test", "udp_stream")],
    );
    let found = compared(("own", &own), ("files", &files), &throughput());
    let text = comparison_text(&found, u16::MAX);
    let names: Vec<String> = found.cells.iter().map(|cell| cell.name()).collect();
    assert_eq!(names, ["1024 · UDP", "8192 · UDP"], "{text}");
    assert!(text.contains("- recorded in files alone: tool iperf3\n") && found.lost_cells() == 2);
    let apart = within(
        &execution("files", &files),
        &Side(vec![size(1024)]),
        &Side(vec![size(8192)]),
        &throughput(),
        3.0,
    );
    assert!(!apart.same_blocks && !apart.cells[0].changes[0].is_paired);
}

#[test]
fn of_many_cells_of_one_side_the_rest_is_counted() {
    let sizes = |from: i64| {
        (from..from + 40)
            .map(|bytes| vec![size(bytes)])
            .collect::<Vec<_>>()
    };
    let (old, new) = (imported(&sizes(1), &[]), imported(&sizes(20), &[]));
    let found = compared(("old", &old), ("new", &new), &throughput());
    assert_eq!((found.cells.len(), found.lost_cells()), (21, 19));
    let far = imported(&sizes(100), &[]);
    let found = compared(("old", &old), ("far", &far), &throughput());
    let text = comparison_text(&found, u16::MAX);
    assert!(found.lost_cells() == 40 && text.contains("- only in old: 10 more cells\n"));
    assert!(text.contains("- only in far: 10 more cells\n"), "{text}");
}

/// Runs whose endpoints have CPUs of their own. In those for which this is true, soft interrupts
/// were timed.
fn own_cpus(timed: impl Fn(&Cell) -> bool) -> Vec<Event> {
    log(STUDY, 3, |cell, planned| {
        let (mut sender, mut receiver) = records(cell, planned);
        for (end, cpu) in [(&mut sender, 0), (&mut receiver, 1)] {
            end.pinned_cpus = vec![cpu];
            for sample in &mut end.samples {
                let ticks = CpuTicks {
                    cpu: 1,
                    ..sample.cpus[0]
                };
                sample.cpus.push(ticks);
            }
            end.in_effect.push(InEffect {
                name: RECEIVE_CPUS.into(),
                requested: None,
                actual: Some(cpu.to_string()),
            });
        }
        let times = |cpu| SoftirqTime {
            cpu,
            kind: "NET_RX".into(),
            count: 1000,
            timed: 100,
            sum_ns: 100_000,
            squares_ns2: 200_000_000,
        };
        let means = if timed(cell) {
            sender.samples[1].softirqs = vec![times(0), times(1)];
            SOFTIRQS_TIMED
        } else {
            "ticks, because they cannot be timed: refused"
        };
        sender.in_effect.push(InEffect {
            name: SOFTIRQ_TIME.into(),
            requested: None,
            actual: Some(means.into()),
        });
        Made::Ended(sender, receiver)
    })
}

#[test]
fn the_text_says_by_which_means_and_why() {
    let text = text(&own_cpus(|_| true));
    assert!(text.contains("CPU time: all cells: own_cpus: "), "{text}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&words(&text), &["before the block; soft interrupts timed"]);
    let text = words(&crate::common::text(&own_cpus(|_| false)));
    assert_says(&text, &["before the block; soft interrupts by ticks"]);
    assert_says(
        &text,
        &["the time of soft interrupts is by ticks, because they cannot be timed: refused ("],
    );
    let cell = &crate::common::json(&own_cpus(|_| true))["cells"][0];
    assert_eq!(cell["softirqs"]["timed"], 3, "{cell:#}");
}
