//! What `bitcost serve` tells monitoring: [`counts`] keeps what was served, [`http`] answers
//! requests for it in Prometheus's text format.

pub mod counts;
pub mod http;
pub mod text;
