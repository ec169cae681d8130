//! Whatever text is taken for an output of nuttcp or nttcp.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| bitcost_fuzz::read_as(&["nttcp", "nuttcp"], text));
