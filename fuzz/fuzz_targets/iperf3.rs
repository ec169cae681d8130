//! The target `iperf3`: `bitcost_fuzz::imported`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("iperf3", bytes));
