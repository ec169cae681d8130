//! Whatever bytes a file has that is to be imported, packed or not: what they are is found out.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(found) = import::read("fuzz", bytes) {
        assert!(!found.is_empty());
        bitcost_fuzz::make_log(found);
    }
});
