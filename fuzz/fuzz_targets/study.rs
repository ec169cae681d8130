//! Whatever text a study has, it is read or refused, and what was read has cells.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::study::Study;

fuzz_target!(|text: &str| {
    if let Ok(study) = Study::parse("fuzz.toml", text) {
        assert!(!study.cells().is_empty());
        assert_eq!(study.text, text);
    }
});
