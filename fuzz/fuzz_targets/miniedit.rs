//! Whatever bytes a MiniEdit file has, it is read or refused, and what was read reads back from our own lab file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::miniedit::{Options, import};
use model::topology::{parse, to_toml};

fuzz_target!(|text: &str| {
    if let Ok(imported) = import(text, Options { mininet_compat: true }) {
        let written = to_toml(&imported.topology);
        assert_eq!(parse("fuzz.toml", &written).ok(), Some(imported.topology), "{written}");
    }
});
