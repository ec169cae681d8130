//! Names of earlier builds that are gone, each with what to use instead.

/// What a name was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A command, such as `history`.
    Verb,
    /// An option of a command, with its dashes.
    Option,
    /// A key of a study or a lab file.
    Key,
    /// A setting, as studies and `--set` name it.
    Setting,
}

/// Kind, name, and what to use instead, as the end of a sentence.
type Row = (Kind, &'static str, &'static str);

/// Every name that is gone.
pub const RETIRED: &[Row] = &[(
    Kind::Verb,
    "bill",
    "`bitcost test … --profile` says where the CPU time of a KiB goes",
)];

/// What to use instead of a name that is gone.
pub fn instead_of(kind: Kind, name: &str) -> Option<&'static str> {
    let row = RETIRED.iter().find(|row| row.0 == kind && row.1 == name)?;
    Some(row.2)
}
