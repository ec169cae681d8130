//! What to do about other programs that took CPU time, before anything else.

use crate::explain::limiter::Limiter;
use crate::explain::limiters::PATH_LOSS;
use crate::explain::others::Others;

/// What to do about them where this limits. What is between the endpoints, or not known, may be a program that forwards.
pub fn stop_others(others: &Others, limiter: &Limiter) -> String {
    let mut words = "stop the other programs first".to_owned();
    if let Some(name) = &others.most {
        words += &format!(" (most of the load is {name})");
    }
    let is_between = limiter.is_on_the_path() || limiter.name() == PATH_LOSS.name;
    if let Some(name) = others.most.as_ref().filter(|_| others.is_full)
        && (limiter.is_unknown() || is_between)
    {
        words += &format!("; if {name} forwards the packets of this test, its CPU is the limit");
    }
    words
}
