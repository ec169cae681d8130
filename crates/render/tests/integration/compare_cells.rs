//! Which cells are compared with which, and the sentences on differences other than their levels.

use std::collections::BTreeSet;

use crate::common::*;
use bitcost_model::counters::SoftirqTime;
use bitcost_model::imported::ImportedRun;
use bitcost_model::record::{RECEIVE_CPUS, SOFTIRQ_TIME, SOFTIRQS_TIMED};
use bitcost_testkit::assert_says;

#[test]
fn every_pair_of_cells_is_compared_once() {
    for (old, new) in [
        (word("transport", "UDP"), word("transport", "TCP")),
        (size(1024), size(8192)),
    ] {
        let found = inside(&whole(STUDY, 3), old, new);
        let mut names: Vec<String> = found.cells.iter().map(|cell| cell.name()).collect();
        names.dedup();
        let text = comparison_text(&found, u16::MAX);
        assert_eq!((names.len(), found.unmatched.len()), (2, 0), "{text}");
    }
}

#[test]
fn cells_of_the_new_side_alone_are_told() {
    let study =
        format!("{STUDY}\n[[leave_out]]\ntransport = [\"UDP\"]\nmessage_size_bytes = [8192]\n");
    let (all, part) = (whole(STUDY, 3), whole(&study, 3));
    let [udp, tcp] = ["UDP", "TCP"].map(|level| word("transport", level));
    let found = inside(&part, udp, tcp);
    let text = comparison_text(&found, u16::MAX);
    assert_says(&text, &["- only in transport=TCP: 8192 · TCP\n"]);
    assert_eq!(
        (found.cells.len(), found.lost_cells()),
        (1, 0),
        "a study says which cells there are"
    );
    let lost = compared(("whole", &all), ("part", &part), &throughput());
    assert_eq!((lost.cells.len(), lost.lost_cells()), (3, 1));
}

#[test]
fn settings_that_differ_are_told_once() {
    let short = STUDY.replace("duration_s = 2", "duration_s = 1");
    let (old, new) = (whole(STUDY, 3), whole(&short, 3));
    let found = compared(("old", &old), ("new", &new), &throughput());
    assert_eq!(found.setting_differences, ["duration: was 2 s, is 1 s"]);
    insta::assert_snapshot!(comparison_text(&found, 120));
}

#[test]
fn a_factor_of_one_side_alone_is_no_hindrance() {
    let further = "[[factor]]\nname = \"nodelay\"\nlevels = [{ label = \"on\", nodelay = true }]\n";
    let old = whole(STUDY, 3);
    let with = |further: &str| {
        let new = whole(&format!("{STUDY}\n{further}"), 3);
        compared(("old", &old), ("new", &new), &throughput())
    };
    let found = with(further);
    assert_eq!((found.cells.len(), found.unmatched.len()), (4, 0));
    assert_eq!(found.setting_differences, ["nodelay: was false, is true"]);
    // With two levels, a cell could match either.
    let off = "levels = [{ label = \"off\", nodelay = false }, ";
    let found = with(&further.replace("levels = [", off));
    assert_eq!((found.cells.len(), found.lost_cells()), (0, 4));
}

/// An execution imported from files: `varied` has its factors, `constant` the levels that all its
/// runs have.
fn imported(varied: &[Vec<(String, Label)>], constant: &[(String, Label)]) -> Vec<Event> {
    let mut study = "title = \"x\"\nquestion = \"x?\"\n".to_owned();
    for (name, _) in &varied[0] {
        let levels = varied.iter().flatten().filter(|(factor, _)| factor == name);
        let levels: BTreeSet<String> = levels
            .map(|(_, label)| format!("{{ label = {} }}", json!(label)))
            .collect();
        let levels: Vec<String> = levels.into_iter().collect();
        let levels = levels.join(", ");
        study += &format!("[[factor]]\nname = \"{name}\"\nlevels = [{levels}]\n");
    }
    study += &format!("[table]\nrows = \"{}\"\n", varied[0][0].0);
    let mut events = whole(&study, 3);
    events.truncate(2);
    let Event::Planned { plan } = &mut events[1] else {
        panic!("a plan")
    };
    let cell = |levels: &Vec<(String, Label)>| Cell {
        levels: levels.clone(),
        conditions: Default::default(),
    };
    plan.cells = varied.iter().map(cell).collect();
    let runs = (0..2 * varied.len()).map(|run| PlannedRun {
        index: run as u32,
        block: run as u32,
        cell: run % varied.len(),
    });
    (plan.seed, plan.blocks, plan.lengths) = (0, 2, None);
    plan.runs = runs.collect();
    for planned in plan.runs.clone() {
        let levels = varied[planned.cell].iter();
        let levels = levels.filter(|(_, level)| level.to_string() != "not said");
        let mbps = 100.0 + f64::from(planned.index);
        let run = ImportedRun {
            tool: "iperf3".into(),
            levels: levels.chain(constant).cloned().collect(),
            figures: BTreeMap::from([("throughput_mbps".to_owned(), mbps)]),
            ..ImportedRun::default()
        };
        events.push(Event::RunImported {
            run: planned.index,
            imported: Box::new(run),
        });
    }
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
    insta::assert_snapshot!(comparison_text(&found, 120));
    // A cell whose files do not give the level may have any level.
    let unsaid = imported(&[protocols("tcp"), protocols("not said")], &[]);
    let found = compared(("both", &both), ("unsaid", &unsaid), &throughput());
    assert!(found.cells.is_empty() && !found.unmatched.is_empty());
}

#[test]
fn files_match_our_own_cells_by_their_settings() {
    let own = whole(STUDY, 3);
    let files = imported(
        &[vec![size(1024)], vec![size(8192)]],
        &[word("protocol", "udp"), word("test", "udp_stream")],
    );
    let found = compared(("own", &own), ("files", &files), &throughput());
    assert_eq!(found.lost_cells(), 2);
    insta::assert_snapshot!(comparison_text(&found, 120));
    let apart = inside(&files, size(1024), size(8192));
    assert!(!apart.same_blocks && !apart.cells[0].changes[0].is_paired);
}

#[test]
fn of_many_cells_of_one_side_the_rest_is_counted() {
    let from = |from: i64| {
        let sizes: Vec<_> = (from..from + 40).map(|bytes| vec![size(bytes)]).collect();
        imported(&sizes, &[])
    };
    let (old, new, far) = (from(1), from(20), from(100));
    let found = compared(("old", &old), ("new", &new), &throughput());
    assert_eq!((found.cells.len(), found.lost_cells()), (21, 19));
    let found = compared(("old", &old), ("far", &far), &throughput());
    let text = comparison_text(&found, u16::MAX);
    assert!(found.lost_cells() == 40 && text.contains("- only in old: 10 more cells\n"));
    assert!(text.contains("- only in far: 10 more cells\n"), "{text}");
}

/// Runs whose endpoints have CPUs of their own. In those for which this is true, soft interrupts
/// were timed.
fn own_cpus(timed: impl Fn(&Cell) -> bool) -> Vec<Event> {
    altered(STUDY, 3, |cell, _, sender, receiver| {
        for (end, cpu) in [(&mut *sender, 0), (receiver, 1)] {
            end.pinned_cpus = vec![cpu];
            for sample in &mut end.samples {
                let ticks = CpuTicks {
                    cpu: 1,
                    ..sample.cpus[0]
                };
                sample.cpus.push(ticks);
            }
            end.in_effect
                .push(in_effect(RECEIVE_CPUS, &cpu.to_string()));
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
        sender.in_effect.push(in_effect(SOFTIRQ_TIME, means));
    })
}

#[test]
fn the_text_says_by_which_means_and_why() {
    let timed = own_cpus(|_| true);
    let ticks = text(&own_cpus(|_| false));
    insta::assert_snapshot!(format!("{}\n{ticks}", text(&timed)));
    let cell = &json(&timed)["cells"][0];
    assert_eq!(cell["softirqs"]["timed"], 3, "{cell:#}");
}
