//! Figures, verdicts and tables from records whose contents are known.

mod answers;
mod documented;
mod executions;
mod figures;
mod ledger;
mod parts;
mod quality;
mod rivals;
mod verdicts;
