//! The target `lab`: `bitcost_fuzz::texts`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("lab", bytes));
