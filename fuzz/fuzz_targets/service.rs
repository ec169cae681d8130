//! The target `service`: `bitcost_fuzz::service`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("service", bytes));
