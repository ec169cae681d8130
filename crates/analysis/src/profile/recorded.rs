//! The profiles in an event of the log.

use bitcost_model::event::Event;
use bitcost_model::profile::Profile;
use bitcost_model::record::{EndpointRecord, Role};

/// A profiled twin, as an event of the log has it.
pub(crate) struct Recorded<'a> {
    /// The run.
    pub run: u32,
    /// The records of sender and receiver.
    pub ends: [&'a EndpointRecord; 2],
    /// Each profile with the end whose agent took it.
    pub profiles: Vec<(Role, &'a Profile)>,
}

/// The profiled twin of an event; absent of others.
pub(crate) fn recorded(event: &Event) -> Option<Recorded<'_>> {
    let Event::RunProfiled {
        run,
        sender,
        receiver,
        ..
    } = event
    else {
        return None;
    };
    let both = [(Role::Sender, sender), (Role::Receiver, receiver)];
    let known = both
        .into_iter()
        .filter_map(|(role, end)| Some((role, end.profile.as_deref()?)));
    Some(Recorded {
        run: *run,
        ends: [sender, receiver],
        profiles: known.collect(),
    })
}
