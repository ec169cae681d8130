//! The target `iperf3_client`: `bitcost_fuzz::iperf3_client`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("iperf3_client", bytes));
