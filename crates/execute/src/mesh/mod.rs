//! A mesh on its hosts: agents that are kept over all runs, and the runs round by round.

mod ground;
mod rounds;

pub use self::ground::Ground;
pub use self::rounds::make;
