//! The target `nuttcp`: `bitcost_fuzz::imported`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("nuttcp", bytes));
