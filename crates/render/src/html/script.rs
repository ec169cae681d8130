//! The script that draws the pictures, which is packed into the program.

use std::io::Read;

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plotly.min.js.gz"));

/// plotly.js (MIT licence, named at its start).
pub(crate) fn plotly() -> String {
    let mut script = String::new();
    // Unpacking cannot fail, because the build packed the script; a page without it says so in each
    // picture.
    let _ = flate2::read::GzDecoder::new(PACKED).read_to_string(&mut script);
    script
}
