//! Everything that people and programs read about an execution: text, Markdown, CSV, JSON,
//! HTML, the formats of other programs, and progress.

mod answer;
mod by_cell;
mod calibration;
pub mod comparison;
mod comparison_headline;
pub mod comparison_text;
mod constants;
mod coverage;
pub mod csv;
pub mod document;
pub mod explained;
pub mod export;
mod figure;
mod first_run;
pub mod html;
mod imported;
mod improve;
pub mod iperf3;
pub mod json;
mod json_parts;
pub mod layout;
pub mod limits;
mod lines;
mod losses;
pub mod markdown;
pub mod markdown_table;
pub mod mesh;
pub mod mode_search;
pub mod notes;
mod number;
mod profile;
pub mod progress;
pub mod provenance;
mod several;
pub mod single;
mod single_run;
mod statements;
pub mod stop_rule;
pub mod study_answer;
mod tables;
pub mod test_answer;
pub mod text;
mod time_series;
mod titles;
mod words;

use export::Form;

/// Every form of output, in the order of the help: a row for each.
pub static FORMS: [Form; 6] = [
    text::FORM,
    markdown::FORM,
    csv::FORM,
    json::FORM,
    html::FORM,
    iperf3::FORM,
];

/// The form of this name.
pub fn form(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.name == name)
}
