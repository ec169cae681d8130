//! A change that an experiment can make: one row of the table, what it offers, and which rows an experiment takes.

use bitcost_model::conditions::Conditions;
use bitcost_model::record::Role;
use bitcost_model::search::Changes;
use bitcost_model::settings::options;
use indexmap::IndexSet;

use super::base::{Base, Place, Side};
use crate::explain::{Limiter, Load, NotTried, quota_of};

/// The names of the rows that are looked at together.
pub(super) const SENDER_CPU: &str = "sender_cpu";
pub(super) const RECEIVER_CPU: &str = "receiver_cpu";
pub(super) const PATH_RATE: &str = "path_rate";
pub(super) const SEGMENTS: &str = "segments";
pub(super) const REQUESTED_RATE: &str = "message_rate";
pub(super) const FLOWS: &str = "flows";
pub(super) const LARGER_RECEIVE: &str = "larger_receive_buffer";
pub(super) const LARGER_SEND: &str = "larger_send_buffer";
pub(super) const WAITING: &str = "waiting";
pub(super) const CONGESTION: &str = "congestion_control";

/// A setting by name, with its value as it is typed.
pub type Setting = (&'static str, String);

/// One row of the table.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    /// The limiters that are a lack of its resource, by name.
    pub of: &'static [&'static str],
    pub kind: Kind,
    /// What a change that relaxes makes more of: where it did not grow, the change is none.
    pub grows: Option<fn(&Load) -> Option<f64>>,
}

/// Whether a row takes some of a resource away, or gives more of it.
#[derive(Debug)]
pub enum Kind {
    Tightens(Resource),
    /// The changes to try, the smallest first. What a run has already is left out.
    Relaxes(fn(&Base) -> Vec<Offer>),
}

/// What a row takes away, and how that is read back.
#[derive(Debug)]
pub struct Resource {
    /// The resource, in words.
    pub words: &'static str,
    /// The limiter that it finds; absent where the throughput may follow the resource whatever limits it.
    pub finds: fn(&Conditions) -> Option<Limiter>,
    /// The setting that takes some of it away.
    ///
    /// # Errors
    /// Why it cannot be tried on this test, as a part of a sentence.
    pub setting: fn(&Base) -> Result<Setting, String>,
    /// The share of the resource that a changed run (second) had of that of an unchanged one; absent where it was not
    /// counted.
    pub left: fn(&Side, &Side) -> Option<f64>,
}

/// How a change is made, and kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct How {
    pub label: String,
    pub settings: Changes,
    /// The command, or what the program calls.
    pub keep: String,
    /// Where root runs the command; absent where the program itself makes the change.
    pub place: Option<Place>,
    /// The setting that it leaves away, by name.
    pub removes: Option<&'static str>,
}

/// A change, or one that cannot be tried, and why.
pub(super) type Offer = Result<How, Box<(How, String)>>;

impl How {
    /// What keeps it, with where that is run.
    pub(super) fn kept(&self) -> String {
        match &self.place {
            Some(place) => format!("{} ({})", self.keep, place.words),
            None => self.keep.clone(),
        }
    }

    /// It as something that was not tried.
    pub(super) fn untried(&self, reason: impl Into<String>) -> NotTried {
        NotTried {
            command: self.place.is_some().then(|| self.kept()),
            ..NotTried::new(&*self.label, reason)
        }
    }
}

/// A change with another one.
pub(super) fn with(base: &How, level: &How) -> How {
    let mut settings = base.settings.clone();
    settings.extend(level.settings.clone());
    // Both may have the same call.
    let keep = base.keep.split("; ").chain(level.keep.split("; "));
    let keep: IndexSet<&str> = keep.filter(|words| !words.is_empty()).collect();
    How {
        label: options(&settings),
        settings,
        keep: Vec::from_iter(keep).join("; "),
        ..How::default()
    }
}

/// A change that cannot be tried, and why.
pub(super) fn cannot(how: How, reason: impl Into<String>) -> Offer {
    Err(Box::new((how, reason.into())))
}

/// One of which nothing but its label is known.
pub(super) fn refused(label: impl Into<String>, reason: impl Into<String>) -> Offer {
    cannot(program(label, &[], ""), reason)
}

/// A change that the program itself can make.
pub(super) fn program(
    label: impl Into<String>,
    settings: &[(&'static str, &str)],
    keep: impl Into<String>,
) -> How {
    let settings = settings.iter();
    How {
        label: label.into(),
        settings: settings
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        keep: keep.into(),
        ..How::default()
    }
}

/// A change of a host, by a command as root.
pub(super) fn host(
    label: impl Into<String>,
    settings: &[(&'static str, &str)],
    (command, place): (String, Place),
) -> How {
    How {
        place: Some(place),
        ..program(label, settings, command)
    }
}

impl Row {
    /// Whether a limiter is a lack of its resource.
    pub fn is_of(&self, limiter: &Limiter) -> bool {
        // The quota of an end is a lack of its CPU time, too.
        let end = match self.name {
            SENDER_CPU => Some(Role::Sender),
            RECEIVER_CPU => Some(Role::Receiver),
            _ => None,
        };
        end.map(quota_of).as_ref() == Some(limiter) || self.of.contains(&limiter.name())
    }

    pub(super) fn relaxes(&self) -> bool {
        matches!(self.kind, Kind::Relaxes(_))
    }

    /// Whether its sizes grow, so that the last one is the largest.
    pub(super) fn is_larger(&self) -> bool {
        self.name.starts_with("larger") || [FLOWS, "message_size"].contains(&self.name)
    }

    pub(super) fn offers(&self, base: &Base) -> Vec<Offer> {
        match &self.kind {
            Kind::Relaxes(offers) => offers(base),
            Kind::Tightens(resource) => {
                let setting = (resource.setting)(base);
                let how =
                    setting.map(|(name, value)| program(resource.words, &[(name, &value)], ""));
                vec![how.or_else(|reason| refused(resource.words, reason))]
            }
        }
    }
}

/// A change that is tried.
#[derive(Clone, Debug)]
pub struct Change {
    pub row: &'static Row,
    pub how: How,
}

impl Change {
    /// The resource of which it takes some away; absent where it relaxes.
    pub(super) fn resource(&self) -> Option<&'static Resource> {
        match &self.row.kind {
            Kind::Tightens(resource) => Some(resource),
            Kind::Relaxes(_) => None,
        }
    }

    /// The name by which a proof knows it.
    pub fn name(&self) -> &str {
        match self.row.kind {
            Kind::Tightens(_) => self.row.name,
            Kind::Relaxes(_) => &self.how.label,
        }
    }

    /// Whether it is more flows, which are faster whatever holds one of them.
    pub fn is_of_flows(&self) -> bool {
        self.row.name == FLOWS
    }

    /// Whether it changes the resource of the limiter that the counters name.
    pub(super) fn is_own(&self, base: &Base) -> bool {
        let named = base.named.as_ref();
        named.is_some_and(|named| self.row.is_of(named))
    }

    /// The change in words; `left` is as in [`Resource::left`].
    pub(super) fn changed(&self, left: Option<f64>) -> String {
        let Some(resource) = self.resource() else {
            return self.how.label.clone();
        };
        match left {
            Some(left) => format!("{:.0} % less {}", 100.0 * (1.0 - left), resource.words),
            None => format!("another {}", resource.words),
        }
    }
}
