//! Lab files: the text that describes an emulated network, and its conversion to a topology and
//! back.

mod change;
mod fill;
mod lab;
mod presets;
mod shaping;
mod write;

pub use change::changes;
pub(crate) use lab::read;
pub use lab::{LabFile, OR_FILE, is_file, parse, preset};
pub use presets::{PRESETS, Preset, USUAL};
pub use shaping::ShapingTable;
pub(crate) use write::to_table;
pub use write::to_toml;
