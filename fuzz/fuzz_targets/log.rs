//! Whatever bytes a log has, it is read or refused, and what was read becomes tables or a sentence that says why not.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use report::Summary;
use tempfile::TempDir;

/// In memory where there is such a place.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    made.expect("a folder for the log")
});

fuzz_target!(|bytes: &[u8]| {
    std::fs::write(FOLDER.path().join(store::LOG_NAME), bytes).expect("is written");
    let Ok(log) = store::read(FOLDER.path()) else { return };
    assert_eq!(log.incomplete.is_some(), !bytes.is_empty() && !bytes.ends_with(b"\n"));
    if let Ok(summary) = Summary::from_events(&log.events) {
        let _ = report::json_text(&summary);
        let _ = report::markdown_summary(&summary);
    }
});
