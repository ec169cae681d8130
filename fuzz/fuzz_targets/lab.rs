//! Whatever text a lab file has, it is read or refused, and what was read reads back from what is written of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::topology::{Ground, parse, to_toml};

fuzz_target!(|text: &str| {
    if let Ok(topology) = parse("fuzz.toml", text) {
        let _ = topology.lints(&Ground::default());
        let written = to_toml(&topology);
        assert_eq!(parse("fuzz.toml", &written).ok(), Some(topology), "{written}");
    }
});
