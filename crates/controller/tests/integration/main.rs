//! The controller with agents that a test scripts, in virtual time; and with processes that send
//! invalid messages.

mod clocks;
mod constants;
mod faults;
mod order;
mod processes;
mod profiled;
mod recovery;
mod world;
