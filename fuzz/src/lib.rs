//! The fuzz targets: the properties that each reader of foreign texts must have for any input.
//!
//! Each target is one function that panics if a property does not hold. `fuzz_targets` passes them
//! to libFuzzer, and a test of `bitcost` (`tests/cli/corpora.rs`) gives them every file of
//! `corpus`.

mod datagrams;
mod frames;
mod imported;
mod kernel;
mod log;
mod messages;
mod peers;
mod service;
mod session;
mod texts;

/// A target: its name, which is also that of its corpus, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target that this library has.
pub const TARGETS: &[Target] = &[
    ("datagrams", datagrams::datagrams),
    ("frames", frames::frames),
    ("lab_daemon", messages::lab_daemon),
    ("iperf3_peer", peers::iperf3_peer),
    ("iperf3_client", peers::iperf3_client),
    ("journal", messages::journal),
    ("watchdog", messages::watchdog),
    ("lab", texts::lab),
    ("log", log::log),
    ("miniedit", texts::miniedit),
    ("netlink", kernel::netlink),
    ("opening", messages::opening),
    ("proc", kernel::proc),
    ("registry", messages::registry),
    ("link", service::link),
    ("service", service::service),
    ("session", session::session),
    ("settings", texts::settings),
    ("study", texts::study),
    ("values", texts::values),
    ("whatever", imported::whatever),
];

/// Runs the target of this name on an input.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, target) = TARGETS
        .iter()
        .find(|(known, _)| *known == name)
        .expect("a row in the table of targets");
    target(bytes);
}

/// The longest prefix that is UTF-8.
fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}
