//! `bitcost agent`: plays one end of each run for a controller on standard input and output.

use crate::failure::Failure;

/// Serves until standard input ends.
pub fn run() -> Result<(), Failure> {
    ::agent::serve(std::io::stdin(), std::io::stdout(), &::agent::Keeping::lab())
        .map_err(|error| Failure::Environment(error.to_string()))
}
