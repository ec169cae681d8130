//! Lab files: the text that describes an emulated network, and its conversion to a topology and
//! back.

mod change;
mod fill;
mod presets;
mod quantity;
mod read;
mod warnings;
mod write;

pub use change::changes;
pub use presets::{PRESETS, Preset, Size};
pub(crate) use quantity::{BYTES, LIMIT, RATE, SHARE, TIME};
pub use quantity::{MODERATION, limit as parse_limit, moderation as parse_moderation};
pub use read::{OR_FILE, is_file, parse, preset, read, read_from, wire};
pub use warnings::{Ground, Warning, warnings};
pub use write::to_toml;
