//! Why executions have no history.

/// The least number of executions of a history.
pub(super) const EXECUTIONS_LEAST: usize = 3;

/// Why executions have no history.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// Too few executions.
    #[error(
        "{given} {} named, and a history needs at least {EXECUTIONS_LEAST} executions, a change point at least 2 on each side of it",
        were(.given)
    )]
    TooFew {
        /// The number of executions.
        given: usize,
    },
    /// A log says no time that can be read.
    #[error(
        "{name}: the time at which it began, `{at}`, cannot be read, so it has no place in the order of time; leave it out"
    )]
    NoTime {
        /// The name of the execution.
        name: String,
        /// The text in its log.
        at: String,
    },
    /// An execution has no cell of the newest one.
    #[error("{name} has no cell in common with {newest}, the newest ({why}); leave it out")]
    NothingInCommon {
        /// The name of the execution.
        name: String,
        /// The name of the newest.
        newest: String,
        /// The factors that differ.
        why: String,
    },
}

fn were(count: &usize) -> &'static str {
    match count {
        1 => "execution was",
        _ => "executions were",
    }
}
