//! Gives every file of the fuzz targets' corpora to its target, so that a fault that was found once
//! does not return.

use std::path::Path;

#[path = "../../../../fuzz/src/lib.rs"]
pub mod fuzz;

#[test]
fn every_target_holds_on_its_corpus() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, _) in fuzz::TARGETS {
        let files = std::fs::read_dir(corpora.join(name))
            .unwrap_or_else(|error| panic!("the corpus of {name}: {error}"));
        let paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        assert!(!paths.is_empty(), "{name} has inputs");
        for path in paths {
            let input = std::fs::read(&path).unwrap();
            let held = std::panic::catch_unwind(|| fuzz::run(name, &input));
            assert!(held.is_ok(), "{}", path.display());
        }
    }
}

/// A full disk or a lost connection leaves inputs that are cut at any place.
#[test]
fn every_target_holds_on_inputs_that_are_cut() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    // A log is written to a file and drawn in every form, which takes too long for each length.
    for (name, _) in fuzz::TARGETS.iter().filter(|(name, _)| *name != "log") {
        for file in std::fs::read_dir(corpora.join(name)).unwrap() {
            let input = std::fs::read(file.unwrap().path()).unwrap();
            let step = (input.len() / 64).max(1);
            (0..input.len())
                .step_by(step)
                .for_each(|length| fuzz::run(name, &input[..length]));
        }
    }
}
