//! The history of executions as text, Markdown and JSON, and its sentences for every form.

mod forms;
mod json;
mod table;
mod words;

pub use forms::{history_markdown, history_text};
pub use json::history_json;
