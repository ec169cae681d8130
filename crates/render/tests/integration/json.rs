//! The document that programs read, and which runs are in its cells.

use crate::common::{Made, STUDY, ended, findings, is, json, log, plain, records, summary};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::log::LogError;
use bitcost_model::event::{Event, FailureKind};
use bitcost_model::record::{Arrivals, Counts, EndpointRecord, Sequence};
use bitcost_testkit::assert_says;
use serde_json::json;

#[test]
fn cells_hold_levels_runs_and_figures() {
    let document = json(&log(STUDY, 3, |cell, run| ended(cell, &plain(cell, run))));
    let cell = &document["cells"][0];
    assert_eq!(
        cell["levels"],
        json!({ "message_size_bytes": 1024, "transport": "UDP" })
    );
    assert_eq!(cell["runs"], 3);
    let figure = json!({
        "median": 1034.24, "low": 1024.0, "high": 1044.48,
        "runs": 3, "mean": 1034.24, "standard_deviation": 10.24, "least": 1024.0, "largest": 1044.48,
    });
    for (name, wanted) in figure.as_object().expect("names") {
        let found = cell["throughput_mbps"][name].as_f64().expect("a number");
        assert!(
            (found - wanted.as_f64().expect("a number")).abs() < 1e-9,
            "{name}: {found}"
        );
    }
    assert_eq!(
        cell["throughput_mbps"]
            .as_object()
            .map(serde_json::Map::len),
        Some(8)
    );
    assert_eq!(cell["expected"]["throughput_mbps"], 4805.0);
    assert_eq!(cell["attribution"], json!({ "napi_thread": 3 }));
    assert!(
        cell.get("segment_size_bytes").is_none() && document["cells"][1].get("loss_pct").is_none()
    );
    assert_eq!(document["seed"], 7);
    assert_eq!(document["blocks"], 3);
    assert_eq!(document["study"], "test");
    assert_eq!(document["hosts"]["receiver"]["place"], "netns:h2");
    assert_eq!(document["excluded"], json!([]));
    assert_eq!(document["incomplete_runs"], json!([]));
}

#[test]
fn improvements_are_above_1_where_it_got_better() {
    let document = json(&log(STUDY, 3, |cell, run| {
        let mut did = plain(cell, run);
        did.receiver_cpu_ms = if is(cell, "message_size_bytes", "1024") {
            200
        } else {
            800
        };
        ended(cell, &did)
    }));
    let udp = &document["improvements"][0];
    assert_eq!(udp["levels"], json!({ "transport": "UDP" }));
    assert_eq!(
        (&udp["factor"], &udp["from"], &udp["to"]),
        (&json!("message_size_bytes"), &json!(1024), &json!(8192))
    );
    let close = |value: &serde_json::Value, expected: f64| {
        (value.as_f64().unwrap() - expected).abs() < 1e-9
    };
    assert!(
        close(&udp["throughput_mbps"]["value"], 2.0),
        "twice the throughput"
    );
    assert!(
        close(&udp["send_service_demand_us_per_kib"]["value"], 2.0),
        "half of the cost"
    );
    assert!(
        close(&udp["receive_service_demand_us_per_kib"]["value"], 0.5),
        "twice the cost"
    );
    assert!(
        close(&udp["receive_service_demand_us_per_kib"]["low"], 0.5),
        "blocks cancel"
    );
    assert!(close(
        &udp["expected"]["send_service_demand_us_per_kib"],
        1.69 / 0.43
    ));
    assert!(udp.get("bytes_per_receive_call").is_none());
}

#[test]
fn one_run_has_a_median_without_bounds() {
    let document = json(&log(STUDY, 1, |cell, run| ended(cell, &plain(cell, run))));
    assert_eq!(
        document["cells"][0]["throughput_mbps"],
        json!({ "median": 1024.0, "runs": 1 })
    );
    assert_eq!(
        document["improvements"][0]["throughput_mbps"],
        json!({ "value": 2.0 })
    );
}

#[test]
fn runs_whose_conditions_were_not_in_effect_are_left_out_of_tables_and_verdicts() {
    let events = log(STUDY, 3, |cell, run| {
        let (mut sender, mut receiver) = records(cell, run);
        match (run.block, cell.name().as_str()) {
            (0, "1024 · TCP") => {
                sender
                    .offloads
                    .requested
                    .insert("tx-tcp-segmentation".into(), true);
                sender
                    .offloads
                    .active
                    .insert("tx-tcp-segmentation".into(), false);
                sender
                    .offloads
                    .mismatched
                    .push("tx-tcp-segmentation".into());
            }
            (1, "1024 · TCP") => sender.tcp_info.as_mut().unwrap().snd_mss_bytes = Some(1012),
            (2, "8192 · UDP") => receiver.counts.measured.bytes = 0,
            _ => {}
        }
        Made::Ended(sender, receiver)
    });
    let document = json(&events);
    let mut reasons: Vec<(u64, &str)> = document["excluded"]
        .as_array()
        .unwrap()
        .iter()
        .map(reason)
        .collect();
    reasons.sort_unstable();
    assert_eq!(
        reasons[0],
        (
            0,
            "sender veth: tx-tcp-segmentation requested on, in effect off"
        )
    );
    assert_eq!(
        reasons[1],
        (
            1,
            "user data per segment: requested 1024 bytes, in effect 1012"
        )
    );
    assert!(
        reasons[2]
            .1
            .starts_with("nothing received in the measured window (522240000")
    );
    let runs: Vec<_> = document["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["runs"].as_u64())
        .collect();
    assert_eq!(runs, [Some(3), Some(1), Some(2), Some(3)]);
    assert_eq!(document["incomplete_runs"], json!([]));
    // A verdict counts the same runs as the table.
    let explained: Vec<_> = findings(&events)
        .explanation
        .cells
        .iter()
        .map(|cell| Some(cell.runs.len() as u64))
        .collect();
    assert_eq!(explained, runs);
}

#[test]
fn runs_whose_counts_cannot_be_of_the_run_alone_are_left_out() {
    let events = log(STUDY, 3, |cell, run| {
        let (sender, mut receiver) = records(cell, run);
        let measured_sent = sender.counts.measured.messages;
        match (run.block, cell.name().as_str()) {
            (0, "8192 · UDP") => receiver.counts.measured.messages = measured_sent + 1,
            (1, "8192 · UDP") => {
                let late = measured_sent / 50;
                let measured = Some(Arrivals {
                    late,
                    ..Arrivals::default()
                });
                receiver.sequence = Some(Sequence {
                    measured_sent,
                    late,
                    measured,
                    ..Sequence::default()
                });
            }
            (2, "8192 · UDP") => {
                let measured = Some(Arrivals {
                    reordered: measured_sent / 2,
                    ..Arrivals::default()
                });
                receiver.sequence = Some(Sequence {
                    measured_sent,
                    measured,
                    foreign: 3,
                    ..Sequence::default()
                });
            }
            _ => {}
        }
        Made::Ended(sender, receiver)
    });
    let document = json(&events);
    let mut reasons: Vec<(u64, &str)> = document["excluded"]
        .as_array()
        .unwrap()
        .iter()
        .map(reason)
        .collect();
    reasons.sort_unstable();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(
        reasons[0].1.starts_with("the receiver counted ")
            && reasons[1].1.starts_with("2.0 % of the datagrams")
    );
    let is_said = |note: &serde_json::Value| {
        note.to_string()
            .contains("datagrams that are not of the run came")
    };
    assert!(document["notes"].as_array().unwrap().iter().any(is_said));
}

fn reason(entry: &serde_json::Value) -> (u64, &str) {
    assert!(entry["run"].is_u64() && entry["levels"].is_object());
    (
        entry["block"].as_u64().unwrap(),
        entry["reason"].as_str().unwrap(),
    )
}

#[test]
fn a_run_that_was_tried_again_counts_once() {
    let mut events = log(STUDY, 1, |_, _| {
        Made::Failed(FailureKind::Interrupted, "stopped by Ctrl-C")
    });
    assert_eq!(summary(&events).incomplete.len(), 4);
    let again = log(STUDY, 1, |cell, run| ended(cell, &plain(cell, run)));
    events.extend(again.into_iter().skip(3));
    let summary = summary(&events);
    assert!(summary.excluded.is_empty() && summary.incomplete.is_empty());
    assert!(summary.cells.iter().all(|cell| cell.runs == 1));
}

#[test]
fn a_run_that_was_broken_off_is_missing() {
    let mut events = log(STUDY, 1, |cell, run| ended(cell, &plain(cell, run)));
    events.pop();
    assert_eq!(json(&events)["incomplete_runs"], json!([3]));
}

#[test]
fn a_log_without_its_first_event_says_so() {
    let events = log(STUDY, 1, |_, _| Made::Missing);
    let read = |events: &[Event]| Findings::of_events("x".into(), events.to_vec()).unwrap_err();
    assert_eq!(read(&[]), LogError::NoStudy);
    assert_eq!(read(&events[1..]), LogError::NoStudy);
    assert_eq!(read(&events[..1]), LogError::NoPlan);
}

/// The study with a stop rule of 3 % and 8 blocks at most.
fn with_rule() -> String {
    STUDY.replacen(
        "blocks = 3\n",
        "blocks = 3\nuntil_interval_pct = 3\nmax_blocks = 8\n",
        1,
    )
}

#[test]
fn a_stop_rule_names_the_cells_that_are_still_wide() {
    let made =
        |cell: &bitcost_model::study::Cell, run: &bitcost_model::plan::PlannedRun, wild: bool| {
            let mut did = plain(cell, run);
            let is_wild =
                wild && is(cell, "message_size_bytes", "8192") && is(cell, "transport", "UDP");
            did.received_mbps = if is_wild && run.block % 2 == 1 {
                1000.0
            } else {
                2000.0
            };
            did.sent_mbps = 2000.0;
            ended(cell, &did)
        };
    let wide =
        json(&log(&with_rule(), 8, |cell, run| made(cell, run, true)))["until_interval"].clone();
    assert_eq!(
        (&wide["metric"], &wide["requested_pct"]),
        (&json!("throughput_mbps"), &json!(3.0))
    );
    assert_eq!(wide["reached"], false);
    let cells = wide["wide"].as_array().expect("a list");
    assert!(
        cells.len() == 1
            && cells[0]["cell"] == "8192 · UDP"
            && cells[0]["width_pct"].as_f64() > Some(3.0),
        "{wide}"
    );
    // Ended after 5 of 8 blocks: the last 3 are not missing.
    let until = |run: &bitcost_model::plan::PlannedRun| run.block < 5;
    let mut events = log(&with_rule(), 8, |cell, run| {
        if until(run) {
            made(cell, run, false)
        } else {
            Made::Missing
        }
    });
    assert_eq!(
        json(&events)["incomplete_runs"].as_array().map(Vec::len),
        Some(3 * summary(&events).cells.len())
    );
    events.push(Event::ExecutionEnded {
        at: String::new(),
        enough_blocks: Some(5),
    });
    let document = json(&events);
    assert_eq!(
        (&document["blocks"], &document["incomplete_runs"]),
        (&json!(5), &json!([]))
    );
    assert_eq!(document["until_interval"]["reached"], true);
    let mut reader = bitcost_analysis::log::Reader::default();
    events
        .iter()
        .enumerate()
        .for_each(|(place, event)| reader.take(place, event));
    let of_summary = summary(&events).precision;
    let while_running = bitcost_analysis::summary::precision_after(5, reader);
    let ended =
        while_running
            .expect("a log")
            .map(|precision| bitcost_analysis::summary::Precision {
                is_ended: true,
                ..precision
            });
    assert!(of_summary.is_some());
    assert_eq!(of_summary, ended);
}

/// An execution of one block whose first run's records are changed.
fn changed(change: impl Fn(&mut EndpointRecord, &mut EndpointRecord)) -> Vec<Event> {
    log(STUDY, 1, |cell, planned| {
        let (mut sender, mut receiver) = records(cell, planned);
        if planned.index == 0 {
            change(&mut sender, &mut receiver);
        }
        Made::Ended(sender, receiver)
    })
}

#[test]
fn a_run_whose_records_contradict_themselves_is_left_out_with_the_reason() {
    let reasons = |events: &[Event]| {
        summary(events)
            .excluded
            .into_iter()
            .map(|run| run.reason)
            .collect::<Vec<_>>()
    };
    assert_eq!(reasons(&changed(|_, _| ())), Vec::<String>::new());
    let more = |counts: &mut Counts| {
        (counts.bytes, counts.messages) = (counts.bytes * 5, counts.messages * 5)
    };
    let said = reasons(&changed(|_, receiver| more(&mut receiver.counts.measured)));
    assert!(said.len() == 1 && said[0].starts_with("the records contradict each other: "));
    let said = reasons(&changed(|sender, _| {
        let bytes = sender.counts.total().bytes + 1;
        sender.samples.last_mut().expect("samples").counts.bytes = bytes;
    }));
    assert!(
        said.len() == 1 && said[0].starts_with("the sender's record contradicts itself: 0 bytes"),
        "{said:?}"
    );
    // Data in flight at the window's edges, and duplicate datagrams, contradict nothing.
    let fine = changed(|sender, receiver| {
        receiver.counts.measured.bytes += 1024;
        sender.counts.outside.bytes += 1024;
        if let Some(sequence) = &mut receiver.sequence {
            receiver.counts.measured.messages += 3;
            sequence.duplicated = 3;
        }
    });
    assert_eq!(reasons(&fine), Vec::<String>::new());
}

#[test]
fn events_that_do_not_belong_together_are_refused() {
    let events = log(STUDY, 1, |cell, planned| ended(cell, &plain(cell, planned)));
    let said = |change: &dyn Fn(&mut Vec<Event>)| {
        let mut events = events.clone();
        change(&mut events);
        Findings::of_events("x".into(), events.clone())
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    assert!(said(&|events| events.push(events[1].clone())).contains("a second plan"));
    assert!(said(&|events| events.push(events[4].clone())).contains("two results of run "));
    let unknown = |events: &mut Vec<Event>| {
        let Event::RunEnded { run, .. } = &mut events[4] else {
            panic!("a result")
        };
        *run = 99;
    };
    assert!(said(&unknown).contains("a result of run 100, and its plan has "));
    let slower = |events: &mut Vec<Event>| {
        let Event::Planned { plan } = &mut events[1] else {
            panic!("a plan")
        };
        plan.cells[0].conditions.rate_bps = Some(5);
    };
    let words = said(&slower);
    assert_says(
        &words,
        &[
            "is not the one that its study and seed give: run ",
            "rate_bps 5",
        ],
    );
    let swapped = |events: &mut Vec<Event>| {
        let Event::Planned { plan } = &mut events[1] else {
            panic!("a plan")
        };
        (plan.runs[0].cell, plan.runs[1].cell) = (plan.runs[1].cell, plan.runs[0].cell);
    };
    assert!(said(&swapped).contains("run 1 is `"), "{}", said(&swapped));
    // A log of an earlier format may have other defaults in its plan.
    let mut earlier = events.clone();
    slower(&mut earlier);
    let Event::ExecutionBegan { format, .. } = &mut earlier[0] else {
        panic!("a beginning")
    };
    *format -= 1;
    let found = Findings::of_events("x".into(), earlier).expect("findings");
    let caveats = found.summary.caveats.iter();
    assert_eq!(
        caveats
            .filter(|words| words.contains("made its plan"))
            .count(),
        1
    );
}
