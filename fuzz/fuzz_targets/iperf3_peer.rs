//! The target `iperf3_peer`: `bitcost_fuzz::peers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("iperf3_peer", bytes));
