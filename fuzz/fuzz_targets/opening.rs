//! The target `opening`: `bitcost_fuzz::messages`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("opening", bytes));
