//! `bitcost serve keys`: the keys that a service serves, listed, added by links, and revoked.

use std::time::Duration;

use bitcost_host::KNOBS;
use bitcost_model::Invalid;
use bitcost_model::host_settings::STRESS;
use bitcost_model::units::{parse_duration, parse_rate};
use bitcost_service::OwnKey;
use bitcost_service::address::{HostPort, PORT};
use bitcost_service::fingerprint::Fingerprint;
use bitcost_service::link::Link;
use bitcost_service::rules::Rules;
use bitcost_service::store::{Enrolled, Store};

use super::agents::{Folder, about_link};
use crate::failure::Failure;
use crate::output;

/// Which keys, of which service.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    folder: Folder,
}

#[derive(clap::Subcommand)]
enum Action {
    /// List the keys: name, fingerprint, when enrolled and last used, and rules
    List(Folder),
    /// Create a link that enrols one client, with the rules for its key
    Add(Box<Add>),
    /// Revoke a key; a test that it is running ends within seconds
    Revoke {
        /// Name of the key, or the start of its fingerprint
        key: String,
        #[command(flatten)]
        folder: Folder,
    },
}

/// The rules of a key.
#[derive(clap::Args)]
struct Add {
    /// Name under which the key is listed [default: the host name that the client reports]
    #[arg(long)]
    name: Option<String>,
    /// Settings of this host that its tests may change, such as offloads,mtu_bytes [default: none]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = knob)]
    knobs: Vec<String>,
    /// Interfaces that it may use [default: the one that routes to the client]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    interfaces: Vec<String>,
    /// Let its tests sample the CPUs of this host (--profile): the client then learns what all programs
    /// here do
    #[arg(long)]
    profile: bool,
    /// Maximum rate of a test, summed over its flows; its tests must then request a rate
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    max_rate: Option<u64>,
    /// Maximum duration of a run, including its warm-up; a number alone is in seconds
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = parse_duration)]
    max_duration: Duration,
    /// Maximum number of flows in a run
    #[arg(long, value_name = "N", default_value_t = Rules::default().max_flows)]
    max_flows: u32,
    /// Maximum number of tests at the same time, including those that wait their turn
    #[arg(long, value_name = "N", default_value_t = Rules::default().max_tests)]
    max_tests: u32,
    /// Maximum time for which the key may use this host exclusively
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_duration)]
    max_session: Duration,
    /// Host and port to put into the link [default: where the service listens]
    #[arg(long, value_name = "HOST:PORT", value_parser = at)]
    at: Option<HostPort>,
    #[command(flatten)]
    folder: Folder,
}

fn at(text: &str) -> Result<HostPort, Invalid> {
    HostPort::parse(text, PORT)
}

/// A name of a setting of the host.
fn knob(text: &str) -> Result<String, String> {
    let names: Vec<&str> = KNOBS
        .iter()
        .map(|knob| knob.name())
        .chain([STRESS])
        .collect();
    match names.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("no such setting; allowed: {}", names.join(", "))),
    }
}

/// Does what the action says.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.action {
        None => list(&arguments.folder),
        Some(Action::List(folder)) => list(folder),
        Some(Action::Add(add)) => link(add),
        Some(Action::Revoke { key, folder }) => revoke(key, folder),
    }
}

fn open(folder: &Folder) -> Result<Store, Failure> {
    Ok(Store::open(&folder.path())?)
}

fn list(folder: &Folder) -> Result<(), Failure> {
    let store = open(folder)?;
    let keys = store.keys()?;
    let links = store.invitations()?;
    if keys.is_empty() {
        output::line("no key is enrolled; `bitcost serve keys add` makes a link for a client")?;
    }
    for (
        key,
        Enrolled {
            name,
            enrolled_s,
            rules,
        },
    ) in keys
    {
        let seen = store.seen_s(key).map_or("never used".to_owned(), |seen| {
            format!("last used {}", time(seen))
        });
        output::line(&format!(
            "{name}  {key}\n  enrolled {}, {seen}\n  {}",
            time(enrolled_s),
            rules.phrase()
        ))?;
    }
    for invitation in links {
        let name = invitation
            .name
            .map_or(String::new(), |name| format!(" for {name}"));
        output::line(&format!(
            "a link{name}, not yet used, until {}\n  {}",
            time(invitation.until_s),
            invitation.rules.phrase()
        ))?;
    }
    Ok(())
}

/// A time of the machine's own time zone.
fn time(seconds: u64) -> String {
    let zone = jiff::tz::TimeZone::system();
    match jiff::Timestamp::from_second(seconds as i64) {
        Ok(time) => time.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => "(invalid time)".to_owned(),
    }
}

fn link(add: &Add) -> Result<(), Failure> {
    let store = open(&add.folder)?;
    let at = add.at.clone().or_else(|| store.place()).ok_or_else(|| {
        Failure::Usage(
            "the service has not been started yet, so its address is not known: start it (bitcost serve), or name the address: --at HOST:PORT".to_owned(),
        )
    })?;
    let rules = Rules {
        knobs: add.knobs.clone(),
        interfaces: add.interfaces.clone(),
        profile: add.profile,
        max_rate_bps: add.max_rate,
        max_duration_s: seconds(add.max_duration),
        max_flows: add.max_flows,
        max_tests: add.max_tests,
        max_session_s: seconds(add.max_session),
    };
    let service = OwnKey::of_folder(&add.folder.path())?;
    let token = store.invite(add.name.as_deref(), rules);
    output::line(&about_link(&Link {
        at,
        service: service.fingerprint,
        token: token?,
    }))
}

fn seconds(time: Duration) -> u32 {
    u32::try_from(time.as_secs()).unwrap_or(u32::MAX)
}

fn revoke(asked: &str, folder: &Folder) -> Result<(), Failure> {
    let store = open(folder)?;
    let keys = store.keys()?;
    let fits = |(key, enrolled): &&(Fingerprint, Enrolled)| {
        enrolled.name == asked || key.to_string().starts_with(asked)
    };
    let found: Vec<_> = keys.iter().filter(fits).collect();
    match &found[..] {
        [(key, enrolled)] => {
            store.revoke(*key)?;
            output::line(&format!("{} is revoked, key {key}", enrolled.name))
        }
        [] => Err(Failure::Usage(format!(
            "no key `{asked}`; there are: {}",
            names(keys.iter())
        ))),
        several => Err(Failure::Usage(format!(
            "several keys match `{asked}`: {}; give the start of a fingerprint",
            names(several.iter().copied())
        ))),
    }
}

fn names<'a>(keys: impl Iterator<Item = &'a (Fingerprint, Enrolled)>) -> String {
    let names: Vec<String> = keys
        .map(|(key, enrolled)| format!("{} {key}", enrolled.name))
        .collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}
