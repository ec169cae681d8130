//! The program as its users start it, with real agents, hosts, labs and sshd.
//!
//! The test program is also the helper that prepares a process before it becomes bitcost.

// A test may be a long table.
#![allow(clippy::too_many_lines)]

mod accounting;
mod against;
mod agent_process;
mod agents;
mod attacks;
mod bench;
mod broken_off;
mod cached_metrics;
mod calibration;
mod chaos;
mod confined;
mod counters;
mod cut;
mod data_sockets;
mod delay;
mod disturbed;
mod drain;
mod findings;
mod forms;
mod frames;
mod host;
mod hosts;
mod improve;
mod iperf3;
mod iperf3_client;
mod knobs;
mod kubernetes;
mod labs;
mod ledger;
mod left_changed;
mod limiters;
mod many;
mod mesh;
mod mode_search;
mod nobody_reads;
mod one_run;
mod otava;
mod parts;
mod ping;
mod privileges;
mod profile;
mod prove;
mod result;
mod resume;
mod server;
mod service;
mod several;
mod softirqs;
mod spoofed;
mod squatted;
mod ssh;
mod tables;
mod test_log;
mod trust;
mod watchdog;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words
        .first()
        .is_some_and(|verb| verb == host::WITHOUT_USER_NAMESPACES)
    {
        host::become_without_user_namespaces(&words[1..]);
    }
    trust::leave_mark(&words);
    squatted::take_names(&words);
    privileges::try_confined(&words);
    bitcost_testkit::main_of_modules(&[
        // The longest first, so that the others run meanwhile.
        chaos::TRIALS,
        improve::TRIALS,
        tables::TRIALS,
        iperf3_client::TRIALS,
        kubernetes::TRIALS,
        against::TRIALS,
        drain::TRIALS,
        nobody_reads::TRIALS,
        accounting::TRIALS,
        agents::TRIALS,
        attacks::TRIALS,
        broken_off::TRIALS,
        cached_metrics::TRIALS,
        calibration::TRIALS,
        confined::TRIALS,
        counters::TRIALS,
        cut::TRIALS,
        data_sockets::TRIALS,
        delay::TRIALS,
        disturbed::TRIALS,
        findings::TRIALS,
        forms::TRIALS,
        frames::TRIALS,
        host::TRIALS,
        hosts::TRIALS,
        iperf3::TRIALS,
        watchdog::TRIALS,
        knobs::TRIALS,
        labs::TRIALS,
        ledger::TRIALS,
        left_changed::TRIALS,
        limiters::TRIALS,
        many::TRIALS,
        mesh::TRIALS,
        mode_search::TRIALS,
        one_run::TRIALS,
        otava::TRIALS,
        parts::TRIALS,
        ping::TRIALS,
        privileges::TRIALS,
        profile::TRIALS,
        prove::TRIALS,
        result::TRIALS,
        resume::TRIALS,
        service::TRIALS,
        several::TRIALS,
        softirqs::TRIALS,
        spoofed::TRIALS,
        squatted::TRIALS,
        ssh::cut::TRIALS,
        ssh::study::TRIALS,
        ssh::wrong::TRIALS,
        test_log::TRIALS,
        trust::TRIALS,
    ]);
}
