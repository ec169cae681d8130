//! Why a log cannot be read.

use bitcost_study::StudyError;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    #[error(
        "the log does not say which study it is of (no `execution_began` event); was its start cut off?"
    )]
    NoStudy,
    #[error(
        "the log holds no plan (no `planned` event): the execution stopped before its first run"
    )]
    NoPlan,
    #[error(
        "the log holds a second plan (`planned` event): which one its runs followed is unknown; remove the lines that do not belong to it"
    )]
    SecondPlan,
    #[error("the plan in the log is not the one that its study and seed give; the log was changed")]
    OtherPlan,
    #[error("the log holds a result of run {}, and its plan has {runs} runs: lines of another execution are among its own", run + 1)]
    UnknownRun {
        /// The run, from 0.
        run: u32,
        runs: usize,
    },
    #[error("the log holds two results of run {}, which began once: lines were doubled or renumbered", run + 1)]
    SecondResult {
        /// The run, from 0.
        run: u32,
    },
    #[error("the study in the log cannot be read: {0}")]
    Study(#[from] StudyError),
}
