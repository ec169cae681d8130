//! Damaged logs: nothing panics or hangs, and no figure changes without a word. The long form is `cargo xtask damage`.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::damage::{Bench, COMMANDS, KINDS, Tally};

/// A log of the first format, of one run.
const LOG: &str = include_str!("older/events.jsonl");

/// The recorded log as one of today, whose lines have checksums.
fn sealed(place: &Path) -> PathBuf {
    let folder = place.join("sealed");
    fs::create_dir(&folder).unwrap();
    let log = store::seal_again(&LOG.replacen("\"format\":1", "\"format\":4", 1));
    fs::write(folder.join(store::LOG_NAME), log).unwrap();
    folder
}

#[test]
fn no_damage_changes_figures_without_a_word() {
    let place = tempfile::tempdir().unwrap();
    let bench = Bench::new(Path::new(env!("CARGO_BIN_EXE_bitcost")), &sealed(place.path()), 1).unwrap();
    let mut tally = Tally::default();
    for number in 0..5 * KINDS.len() {
        bench.damage(number, 1, &mut tally).unwrap();
    }
    for number in 5 * KINDS.len()..6 * KINDS.len() {
        bench.damage(number, COMMANDS.len(), &mut tally).unwrap();
    }
    assert_eq!(tally.wrong, [], "{:?}", tally.kinds);
    let refused: usize = tally.kinds.values().map(|counts| counts[1]).sum();
    assert!(refused > 4 * KINDS.len(), "{:?}", tally.kinds);
}
