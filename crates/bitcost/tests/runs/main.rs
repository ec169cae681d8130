//! The program as its users start it, with real agents, hosts, labs and sshd.
//!
//! The test program is also the helper that prepares a process before it becomes bitcost.

// A test may be a long table.
#![allow(clippy::too_many_lines)]

mod against;
mod agent_process;
mod attacks;
mod bad_paths;
mod bench;
mod broken_off;
mod calibration;
mod chaos;
mod confined;
mod counters;
mod data_sockets;
mod delay;
mod disturbed;
mod findings;
mod firewalls;
mod foreign;
mod forms;
mod frames;
mod host;
mod hosts;
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
mod mtu;
mod nobody_reads;
mod one_run;
mod outage;
mod panel;
mod parts;
mod privileges;
mod profile;
mod prove;
mod result;
mod resume;
mod server;
mod service;
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
    squatted::take_names(&words);
    privileges::try_confined(&words);
    bitcost_testkit::main_of_modules(&[
        // The longest first, so that the others run meanwhile.
        chaos::TRIALS,
        tables::TRIALS,
        prove::TRIALS,
        labs::TRIALS,
        mtu::TRIALS,
        mesh::TRIALS,
        firewalls::TRIALS,
        findings::TRIALS,
        ledger::TRIALS,
        iperf3_client::TRIALS,
        kubernetes::TRIALS,
        against::TRIALS,
        nobody_reads::TRIALS,
        attacks::TRIALS,
        bad_paths::TRIALS,
        broken_off::TRIALS,
        calibration::TRIALS,
        confined::TRIALS,
        counters::TRIALS,
        data_sockets::TRIALS,
        delay::TRIALS,
        disturbed::TRIALS,
        foreign::TRIALS,
        forms::TRIALS,
        frames::TRIALS,
        host::TRIALS,
        hosts::TRIALS,
        iperf3::TRIALS,
        watchdog::TRIALS,
        knobs::TRIALS,
        left_changed::TRIALS,
        limiters::TRIALS,
        many::TRIALS,
        mode_search::TRIALS,
        one_run::TRIALS,
        outage::TRIALS,
        panel::TRIALS,
        parts::TRIALS,
        privileges::TRIALS,
        profile::TRIALS,
        result::TRIALS,
        resume::TRIALS,
        service::TRIALS,
        spoofed::TRIALS,
        squatted::TRIALS,
        ssh::cut::TRIALS,
        ssh::study::TRIALS,
        ssh::wrong::TRIALS,
        test_log::TRIALS,
        trust::TRIALS,
    ]);
}
