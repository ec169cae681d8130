//! The target `metrics`: `bitcost_fuzz::metrics`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("metrics", bytes));
