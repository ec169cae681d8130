//! The promises of the link emulator, and whether they are kept.

/// Whether the promises are kept.
#[derive(Default)]
pub(super) struct Verdicts {
    /// Whether a promise was broken.
    pub(super) is_broken: bool,
}

impl Verdicts {
    /// Prints one promise.
    pub(super) fn report(&mut self, kept: bool, what: &str) {
        self.is_broken |= !kept;
        println!("  {}: {what}", if kept { "kept" } else { "NOT KEPT" });
    }
}
