//! Experiments on a test: one thing of it is changed in short runs that are interleaved with unchanged ones, and the
//! ratio of their rates says what the change does. What takes some of a resource away shows what limits
//! (docs/method/prove.md), and what gives more of it, what makes the test faster (docs/method/improve.md); so do other calls
//! of the program, before the first run (docs/method/traffic.md).

mod apply;
mod base;
mod black_hole;
mod buffers;
mod calls;
mod change;
mod choose;
mod hosts;
mod judge;
mod ladder;
mod path;
mod proving;
mod remedies;
mod round;
mod search;
mod table;
mod tighten;

pub(crate) use apply::apply;
pub use base::Base;
pub use black_hole::BlackHole;
pub use change::{Change, How};
pub use ladder::{Kept, Ladder, Rung};
pub use proving::{End, Proving};
pub(crate) use remedies::{advised, of_black_hole};
pub use round::{Round, Run};
pub use search::Search;
