//! The script that draws the pictures, as the program carries it.

use std::io::Read;

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.min.js.gz"));

/// plotly.js (MIT licence, named at its begin).
pub(crate) fn plotly() -> String {
    let mut script = String::new();
    // What the build packed can be unpacked; a page without it says so in each picture.
    let _ = flate2::read::GzDecoder::new(PACKED).read_to_string(&mut script);
    script
}
