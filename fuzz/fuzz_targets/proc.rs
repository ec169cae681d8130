//! The target `proc`: `bitcost_fuzz::kernel`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("proc", bytes));
