//! Groups of options that several verbs have.

pub mod against;
pub mod daily;
pub mod gates;
pub mod hosts;
pub mod judging;
pub mod order;
pub mod place;
pub mod repeats;
pub mod run;
pub mod settings;
pub mod slow;
