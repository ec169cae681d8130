//! The target `datagrams`: `bitcost_fuzz::datagrams`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bitcost_fuzz::run("datagrams", bytes));
