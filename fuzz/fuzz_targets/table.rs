//! Whatever text is taken for a table of netperf's columns: as runs, and strictly as what is explained.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = import::read_table(text);
    bitcost_fuzz::read_as(&["netperf -o"], text);
});
