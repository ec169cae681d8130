//! The target `session`: `bitcost_fuzz::session`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("session", bytes));
