//! Whatever text is taken for an output of netperf: for people, keys and values, CSV.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| bitcost_fuzz::read_as(&["netperf", "netperf -k", "netperf -o"], text));
