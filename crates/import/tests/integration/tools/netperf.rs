//! netperf: what is not in one of its files: several outputs, units, and numbers that are wrong.

use bitcost_import::{Run, read};

use super::{figure, has};

fn noted(found: &Run, words: &str) -> bool {
    found.imported.notes.iter().any(|note| note.contains(words))
}

#[test]
fn outputs_of_several_runs_in_one_file_are_runs() {
    let joined = [
        "netperf-omni-default.csv",
        "netperf-rr-default.csv",
        "netperf-all.csv",
        "netperf-one-column.csv",
    ]
    .map(|name| String::from_utf8(super::fixture(&format!("netperf/{name}"))).expect("text"));
    let runs = read("x", joined.concat().as_bytes()).expect("four outputs");
    assert_eq!(runs.len(), 4);
    assert!(
        runs.iter()
            .all(|run| !run.imported.figures.is_empty() && !noted(run, "left out"))
    );
}

#[test]
fn units_hold_however_columns_are_written() {
    let run = |text: &str| read("x", text.as_bytes()).expect("a table").remove(0);
    let giga = run("local_send_size,throughput,throughput_units\n1024,9.41,10^9bits/s\n");
    assert_eq!(figure(&giga, "throughput_mbps"), 9410.0);
    let asked = run("request_size,throughput,throughput_units\n1,5000,Trans/s\n");
    assert!(figure(&asked, "transactions_per_second") == 5000.0 && !has(&asked, "throughput_mbps"));
    let demand = run(
        "local_send_size,throughput,throughput_units,local_sd,sd_units\n1024,1,10^6bits/s,7,usec/Tran\n",
    );
    assert!(!has(&demand, "netperf_send_service_demand_us_per_kib"));
    let own = run("transport_mss,throughput_mbps,local_sd_us_per_kib,mood\n1024,9.5,0.7,good\n");
    assert_eq!(
        (
            figure(&own, "throughput_mbps"),
            figure(&own, "netperf_send_service_demand_us_per_kib")
        ),
        (9.5, 0.7)
    );
}

#[test]
fn only_datagrams_are_lost() {
    let run = |text: &str| read("x", text.as_bytes()).expect("a table").remove(0);
    let columns = "local_send_throughput_mbps,remote_recv_throughput_mbps";
    assert_eq!(
        figure(
            &run(&format!("local_send_size,{columns}\n64,100,75\n")),
            "loss_pct"
        ),
        25.0
    );
    assert_eq!(
        figure(
            &run(&format!(
                "local_send_size,protocol,{columns}\n64,UDP,100,75\n"
            )),
            "loss_pct"
        ),
        25.0
    );
    assert!(!has(
        &run(&format!(
            "local_send_size,protocol,{columns}\n64,TCP,100,90\n"
        )),
        "loss_pct"
    ));
    assert!(!has(
        &run(&format!("transport_mss,{columns}\n64,100,90\n")),
        "loss_pct"
    ));
}
