//! From the text that people write to what bitcost executes: studies, settings, lab files, and the
//! plan of runs.
//!
//! Pure: no clock, no files, no sockets. A text comes in as a string, and a plan is a function of a
//! study and a seed.

mod against;
pub mod answer;
pub mod calibration;
mod calls;
pub mod check;
mod definition;
mod error;
mod forms;
pub mod host_settings;
pub mod mesh;
pub mod mode_search;
mod picture;
mod plan;
mod read;
mod schema;
pub mod settings;
mod single;
mod stop_rule;
pub mod tables;
mod tcp_buffers;
mod toml;
pub mod topology;

pub use answer::{Place, Sentence, Word};
pub use calls::Call;
pub use check::Check;
pub use definition::{
    BLOCKS_MOST, Compared, Expect, ExpectedCell, Factor, Improvement, LeaveOut, Length, Level,
    Study, TableSpec,
};
pub use error::StudyError;
pub use picture::{Bars, Picture, PictureKind, Scale};
pub use plan::shuffled;
pub use schema::{markdown, study_schema};
pub use single::Single;
pub use tcp_buffers::size_tcp_buffers;
