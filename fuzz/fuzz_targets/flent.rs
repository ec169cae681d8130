//! Whatever text is taken for a file of flent.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| bitcost_fuzz::read_as(&["flent"], text));
