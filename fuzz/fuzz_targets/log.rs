//! Whatever bytes a log has, it is read or refused, and what was read becomes tables or a sentence that says why not.
#![no_main]

use std::sync::LazyLock;

use bitcost_fuzz::{render, render_page};
use libfuzzer_sys::fuzz_target;
use report::Summary;
use report::frame::Execution;
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
    let Ok(summary) = Summary::from_events(&log.events) else { return };
    let execution = Execution { name: "fuzz".to_owned(), events: &log.events, summary };
    render(&execution);
    // A page unpacks the script that draws its pictures, which takes longer than all else.
    if bytes.len() % 16 == 0 {
        render_page(&execution);
    }
});
