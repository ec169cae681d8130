//! What a server tells its user of one of its clients.

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// Its test begins.
    Begins,
    /// Its test took place, and how.
    Served(String),
    /// A rule does not allow what it asked for.
    Refused(String),
    /// It is gone, or no client at all.
    Failed(String),
}
