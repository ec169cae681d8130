//! The reader of the log: takes its events in order, and keeps the data of each run that tables
//! need.

mod caveats;
mod error;
mod exclude;
mod in_effect;
mod place;
mod reader;
mod row;

pub use caveats::caveats_of;
pub use error::LogError;
pub use exclude::{nothing_measured, reason as left_out};
pub(crate) use in_effect::PartsInEffect;
pub use in_effect::settings_not_in_effect;
pub use place::{FirstRun, PlaceFacts};
pub use reader::{Log, Reader};
