//! The fuzz targets: what must be true of whatever bytes each reader of foreign texts is given.
//!
//! A file each, with one function that panics where it is not true. `fuzz_targets` gives them to libFuzzer, and a test of
//! `bitcost` (`tests/corpora.rs`) gives them every file of `corpus`.

mod frames;
mod imported;
mod log;
mod spoken;
mod told;
mod written;

/// A target: its name, which its corpus has too, and what is done with an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target that this library has.
pub const TARGETS: &[Target] = &[
    ("flent", imported::flent),
    ("frames", frames::frames),
    ("holder", spoken::holder),
    ("iperf3", imported::iperf3),
    ("journal", spoken::journal),
    ("keeper", spoken::keeper),
    ("lab", written::lab),
    ("log", log::log),
    ("miniedit", written::miniedit),
    ("netlink", told::netlink),
    ("netperf", imported::netperf),
    ("nuttcp", imported::nuttcp),
    ("opening", spoken::opening),
    ("proc", told::proc),
    ("registry", spoken::registry),
    ("settings", written::settings),
    ("study", written::study),
    ("table", imported::table),
    ("values", written::values),
    ("whatever", imported::whatever),
];

/// Gives an input to the target of this name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a row in the table of targets");
    target(bytes);
}

/// The bytes as far as they are text.
fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}
