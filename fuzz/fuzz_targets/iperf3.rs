//! Whatever text is taken for JSON of iperf3.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| bitcost_fuzz::read_as(&["iperf3 --json-stream", "iperf3 -J"], text));
