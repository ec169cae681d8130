//! Whatever bytes a log has, it is read or refused, and what was read becomes tables or a sentence that says why not.
#![no_main]

use std::sync::LazyLock;

use bitcost_fuzz::{render, render_page};
use libfuzzer_sys::fuzz_target;
use model::event::Events;
use report::Reader;
use report::frame::Execution;
use store::{Damaged, LogFile};
use tempfile::TempDir;

/// In memory where there is such a place.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    made.expect("a folder for the log")
});

fuzz_target!(|bytes: &[u8]| {
    std::fs::write(FOLDER.path().join(store::LOG_NAME), bytes).expect("is written");
    let mut log = LogFile::open(FOLDER.path(), Damaged::LeaveOut).expect("is there");
    let mut reader = Reader::default();
    let Ok(end) = log.read(&mut |place, event| reader.take(place, &event)) else { return };
    assert_eq!(end.incomplete.is_some(), !bytes.is_empty() && !bytes.ends_with(b"\n"));
    let Ok(summary) = reader.summary() else { return };
    let execution = Execution { name: "fuzz".to_owned(), events: Events::Stored(&log), summary };
    render(&execution);
    // A page unpacks the script that draws its pictures, which takes longer than all else.
    if bytes.len() % 16 == 0 {
        render_page(&execution);
    }
});
