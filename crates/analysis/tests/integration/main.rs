//! Figures, verdicts and tables from records whose contents are known.

// A test may be a long table.
#![allow(clippy::too_many_lines)]

mod answers;
mod cards;
mod common;
mod documented;
mod executions;
mod figures;
mod ledger;
mod many_cpus;
mod parts;
mod profile;
mod prove;
mod quality;
mod rivals;
mod search;
mod single_run;
mod verdicts;
