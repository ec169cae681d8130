//! The target `study`: `bitcost_fuzz::written`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("study", bytes));
