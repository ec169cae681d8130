//! Packs the script that draws the pictures, so that the program carries 1.4 MB of it and not 4.6 MB.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use flate2::{Compression, write::GzEncoder};

fn main() {
    let path = script();
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", path.display());
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let packed = PathBuf::from(variable("OUT_DIR")).join("plotly.min.js.gz");
    let file = std::fs::File::create(&packed).expect("the build's folder can be written");
    let mut packed = GzEncoder::new(file, Compression::best());
    packed.write_all(&text).and_then(|()| packed.finish()).expect("the script fits the disk");
}

fn variable(name: &str) -> std::ffi::OsString {
    std::env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"))
}

/// Where the crate that describes the pictures keeps the script that draws them. Its feature `plotly_embed_js` would carry it
/// as it is, and another for formulas; reading it here needs no second build of the crate.
fn script() -> PathBuf {
    let mut command = Command::new(variable("CARGO"));
    command.args(["metadata", "--format-version", "1", "--offline", "--filter-platform"]).arg(variable("TARGET"));
    command.arg("--manifest-path").arg(PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    let metadata = command.output();
    let text = String::from_utf8(metadata.expect("cargo runs").stdout).expect("cargo writes JSON");
    let package = text.split("{\"name\":\"plotly\",\"version\":").nth(1).expect("plotly is a dependency");
    let manifest = package.split("\"manifest_path\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let manifest = PathBuf::from(manifest.expect("a package has a manifest"));
    manifest.with_file_name("resource").join("plotly.min.js")
}
