//! Everything that people and programs read about an execution: text, Markdown, CSV, JSON, Parquet,
//! HTML, the formats of other programs, and progress.

mod answer;
mod calibration;
mod cell_list;
mod column_width;
pub mod comparison;
pub mod comparison_text;
pub mod constants;
pub mod csv;
pub mod explained;
pub mod export;
pub mod forms;
mod grid;
pub mod html;
pub mod imported;
pub mod iperf3;
pub mod json;
pub mod layout;
mod levels;
pub mod limits;
mod lines;
pub mod markdown;
pub mod markdown_table;
pub mod mode_search;
pub mod netperf;
mod noise;
pub mod notes;
mod number;
mod own_runs;
pub mod parquet;
#[cfg(feature = "parquet")]
mod parquet_file;
pub mod plots;
pub mod progress;
pub mod provenance;
mod queue_limits;
pub mod repeats;
pub mod single;
mod statements;
pub mod stop_rule;
pub mod study_answer;
mod tables;
pub mod test_answer;
pub mod test_json;
pub mod text;
mod time_series;
mod titles;
