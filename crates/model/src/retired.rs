//! Names of earlier builds that are gone, each with what to use instead.

/// What a name was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A command, such as `bill`.
    Verb,
    /// An option of a command, with its dashes.
    Option,
    /// A key of a study or a lab file.
    Key,
    /// A setting, as studies and `--set` name it.
    Setting,
}

/// Kind, name, and what to use instead, as the end of the sentence "`NAME` is gone; …".
type Row = (Kind, &'static str, &'static str);

/// Every name that is gone.
pub const RETIRED: &[Row] = &[
    (
        Kind::Verb,
        "bill",
        "`bitcost test … --profile` says where the CPU time of a KiB goes",
    ),
    (Kind::Verb, "study", "use `bitcost studies new`"),
    (Kind::Verb, "schema", "use `bitcost studies schema`"),
    (Kind::Option, "--buffers", "use `--tcp-buffers`"),
    (
        Kind::Option,
        "--like-the-paper",
        "use `--like-the-document`",
    ),
    (Kind::Setting, "beside", "use `background`"),
    (Kind::Setting, "buffers", "use `tcp_buffers`"),
    (
        Kind::Option,
        "--state-budget",
        "no run is repeated for the state of the machine; leave it out",
    ),
    (
        Kind::Option,
        "--state-of",
        "no run is repeated for the state of the machine; leave it out",
    ),
    (
        Kind::Verb,
        "history",
        "Apache Otava finds changes in what `bitcost show FOLDER... --format csv` prints",
    ),
    (
        Kind::Verb,
        "ping",
        "`bitcost lab exec NODE ping` runs the system's in a node of a lab",
    ),
];

/// That a name is gone and what to use instead, as a sentence.
pub fn instead_of(kind: Kind, name: &str) -> Option<String> {
    let row = RETIRED.iter().find(|row| row.0 == kind && row.1 == name)?;
    Some(format!("`{name}` is gone; {}", row.2))
}
