//! Packs the script that draws the pictures, so that the program carries 1.4 MB of it and not 4.6
//! MB.

use std::io::Write;
use std::path::PathBuf;

use flate2::{Compression, write::GzEncoder};

// cargo reads the output of a build script.
#[allow(clippy::disallowed_macros)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let sources = plotly::Plot::offline_js_sources();
    let folder = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let packed = PathBuf::from(folder).join("plotly.min.js.gz");
    let file = std::fs::File::create(&packed).expect("the build's folder can be written");
    let mut packed = GzEncoder::new(file, Compression::best());
    packed
        .write_all(script(&sources).as_bytes())
        .and_then(|()| packed.finish())
        .expect("the script fits the disk");
}

/// The script that draws, which is in the first of two `script` elements; the second one is for
/// formulas. A script cannot contain the tag that ends it.
fn script(sources: &str) -> &str {
    let (_, rest) = sources
        .split_once("<script type=\"text/javascript\">")
        .expect("plotly gives an element `script`");
    let (script, _) = rest.split_once("</script>").expect("the element ends");
    assert!(
        script.contains("plotly.js v"),
        "the first script of the crate plotly is the one that draws"
    );
    script
}
