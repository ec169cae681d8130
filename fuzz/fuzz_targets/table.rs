//! Whatever text is taken for a table of netperf's columns.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| bitcost_fuzz::read_as(&["a table of netperf's columns"], text));
