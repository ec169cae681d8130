//! Answers of `bitcost limits`.

use std::time::Duration;

use bitcost_analysis::theory::Bdp;
use bitcost_render::limits::{bdp_json, bdp_text};
use serde_json::json;

#[test]
fn buffers_are_multiples_of_the_product() {
    let bdp = Bdp {
        rate_bps: 1_000_000_000,
        rtt: Duration::from_millis(20),
        mtu_bytes: 1500,
    };
    assert_eq!(
        bdp_json(&bdp)["buffers"][3],
        json!({ "multiple": 8, "bytes": 20_000_000 })
    );
    let text = bdp_text(&bdp);
    assert!(text.contains("8 × BDP  20000000  20.000  19.073"), "{text}");
}
