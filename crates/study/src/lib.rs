//! From the text that people write to what bitcost executes: studies, settings, lab files, and the
//! plan of runs.
//!
//! Pure: no clock, no files, no sockets. A text comes in as a string, and a plan is a function of a
//! study and a seed.

/// Types with the schema of each, which stands where they are used.
macro_rules! schemas {
    ($($name:ident $(<$of:ident>)?, $generator:ident => $schema:expr;)*) => {
        $(
            impl $(<$of: schemars::JsonSchema>)? schemars::JsonSchema for $name $(<$of>)? {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }

                fn json_schema($generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    $schema
                }
            }
        )*
    };
}

mod against;
pub mod answer;
pub mod check;
mod definition;
mod error;
mod forms;
pub mod limits;
pub mod mesh;
mod picture;
mod plan;
mod read;
mod schema;
mod settings;
mod single;
mod stop_rule;
pub mod tables;
mod toml;
pub mod topology;

pub use answer::{Place, Sentence, Word};
pub use check::Check;
pub use definition::{Compared, Expect, ExpectedCell, Factor, LeaveOut, Level, Study, TableSpec};
pub use error::StudyError;
pub use picture::{Bars, Picture, PictureKind, Scale};
pub use plan::shuffled;
pub use schema::{schema_of, study_schema};
pub use single::Single;
