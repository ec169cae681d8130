//! Everything that people and programs read about an execution: text, Markdown, CSV, JSON,
//! HTML, the formats of other programs, and progress.

pub mod answer;
pub mod block;
pub mod comparison;
pub mod csv;
pub mod document;
pub mod experiment;
pub mod explained;
pub mod export;
mod first_run;
pub mod html;
pub mod iperf3;
pub mod layout;
pub mod limits;
pub mod lines;
mod losses;
pub mod markdown_table;
mod mesh;
pub mod notes;
pub mod number;
mod one_cell;
pub mod one_run;
mod profile;
pub mod progress;
pub mod report;
mod statements;
pub mod stop_rule;
mod tables;
mod words;

use export::Form;

/// Every form of output, in the order of the help: a row for each.
pub static FORMS: [Form; 5] = [
    report::TEXT,
    report::MARKDOWN,
    csv::FORM,
    document::FORM,
    iperf3::FORM,
];
