//! The two hosts of a run, from which a mesh is made.

use std::path::Path;

use bitcost_model::study::Label;

use crate::Found;

/// The factors of the two hosts.
pub(crate) const PAIR: [&str; 2] = ["sender", "receiver"];

/// Between the names of the hosts in the name of a file.
const BETWEEN: &str = "-to-";

/// Notes the two hosts of a run.
pub(crate) fn of_hosts(run: &mut Found, sender: &str, receiver: &str) {
    for (factor, host) in PAIR.into_iter().zip([sender, receiver]) {
        run.level(factor, Label::Text(host.to_owned()));
    }
}

/// Notes the two hosts that a file's name says: `n1-to-n2.txt`.
pub(crate) fn of_name(run: &mut Found, file: &str) {
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
    if let Some((sender, receiver)) = stem.and_then(|stem| stem.split_once(BETWEEN)) {
        of_hosts(run, sender, receiver);
    }
}
