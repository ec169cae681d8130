//! The services of bitcost on other hosts: how a host that is named becomes one of them.

use bitcost_execute::hosts::{Host, addresses};
use bitcost_model::{Invalid, Unavailable};
use bitcost_service::again::patiently;
use bitcost_service::client::{self, Unreached};
use bitcost_service::link::{Link, SCHEME};
use bitcost_service::{Carried, Client, Known};

use crate::failure::Failure;
use crate::output::say;

/// A host as it is named on the command line.
#[derive(Clone, Debug)]
pub struct Asked {
    text: String,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// This machine, or one that ssh reaches.
    Plain(Host),
    /// A link to enrol with.
    Link(Link),
    /// A host with a service at which this machine is enrolled, and how ssh names it.
    Enrolled(Known, Result<Host, Invalid>),
    /// The list of the services at which this machine is enrolled cannot be read.
    Unreadable(Unavailable),
}

impl Asked {
    /// Reads a host, or the link of a service.
    ///
    /// # Errors
    /// The text that is allowed.
    pub fn parse(text: &str) -> Result<Asked, String> {
        let what = if text.starts_with(SCHEME) {
            What::Link(Link::parse(text)?)
        } else {
            match client().find(text).as_deref() {
                Ok([]) => What::Plain(Host::parse(text)?),
                Ok([known]) => What::Enrolled(known.clone(), Host::parse(text)),
                Ok(several) => {
                    let places: Vec<String> =
                        several.iter().map(|known| known.at().to_string()).collect();
                    return Err(format!(
                        "this host is enrolled at several services of {text}: {}; name one of them",
                        places.join(", ")
                    ));
                }
                Err(unreadable) => What::Unreadable(unreadable.clone()),
            }
        };
        Ok(Asked {
            text: text.to_owned(),
            what,
        })
    }

    /// The host as a name of a node in a running lab; absent for this machine.
    pub fn node(&self) -> Option<String> {
        match &self.what {
            What::Plain(Host::Local) => None,
            What::Plain(Host::Ssh(name)) => Some(name.clone()),
            _ => Some(self.text.clone()),
        }
    }

    /// The host, without asking whether it answers, and without using a link.
    ///
    /// # Errors
    /// Environment, where the list of services cannot be read.
    pub fn name(&self) -> Result<Host, Failure> {
        Ok(match &self.what {
            What::Plain(host) => host.clone(),
            What::Link(link) => Host::Service(link.at.clone()),
            What::Enrolled(known, _) => Host::Service(known.at()),
            What::Unreadable(Unavailable(why)) => return Err(Failure::Environment(why.clone())),
        })
    }

    /// The host and the way to it: enrols with a link; asks whether the service answers, else ssh is
    /// the way.
    ///
    /// # Errors
    /// Environment, where the list of services cannot be read, or the service refuses, has another
    /// key, or does not answer and ssh cannot be used.
    pub fn reach(&self) -> Result<Host, Failure> {
        match &self.what {
            What::Plain(host) => Ok(host.clone()),
            What::Link(link) => enrol(link),
            What::Unreadable(Unavailable(why)) => Err(Failure::Environment(why.clone())),
            What::Enrolled(known, by_ssh) => match check(known) {
                Ok(note) => {
                    note.iter().for_each(|note| say(&format!("note: {note}")));
                    Ok(Host::Service(known.at()))
                }
                Err(silent @ Unreached::Silent { .. }) => match by_ssh {
                    Ok(host) => {
                        say(&format!("note: {silent}; ssh is used"));
                        Ok(host.clone())
                    }
                    Err(_) => Err(Failure::Environment(silent.to_string())),
                },
                Err(other) => Err(Failure::Environment(other.to_string())),
            },
        }
    }
}

/// What this machine keeps as a client of services.
fn client() -> Client {
    Client::of(&bitcost_host::journal::folder().join("client"))
}

/// Asks the service whether it answers; it may be busy at first.
fn check(known: &Known) -> Result<Option<String>, Unreached> {
    patiently(&mut say, || client::check(&client(), known, &addresses))
}

fn enrol(link: &Link) -> Result<Host, Failure> {
    let name = bitcost_sys::process::host_name();
    let enrol = || client::enrol(&client(), link, &name, &addresses);
    let is_new =
        patiently(&mut say, enrol).map_err(|error| Failure::Environment(error.to_string()))?;
    if is_new {
        let at = &link.at;
        say(&format!(
            "enrolled at the service at {at}; from now on, use `{}` as its name",
            at.host
        ));
    }
    Ok(Host::Service(link.at.clone()))
}

/// Carries the messages of a controller to an agent of a service.
///
/// # Errors
/// Environment, where this machine is not enrolled there; the exit code 3, where the connection is
/// lost.
pub fn carry(service: &str, no_cost: bool) -> Result<(), Failure> {
    let client = client();
    let known = client.find(service)?.pop().ok_or_else(|| {
        Failure::Environment(format!(
            "this host is not enrolled at {service}; request a link from its administrator (bitcost serve keys add)"
        ))
    })?;
    let carried = bitcost_service::carry(&client, &known, no_cost, &addresses, &mut say);
    match carried.map_err(|error| Failure::Environment(error.to_string()))? {
        Carried::Done => Ok(()),
        Carried::Lost => Err(Failure::Program(3)),
    }
}
