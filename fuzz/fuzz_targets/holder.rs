//! The target `holder`: `bitcost_fuzz::spoken`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("holder", bytes));
