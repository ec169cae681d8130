//! `bitcost serve`: the agent as a service.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bitcost_model::harmless;
use bitcost_model::units::{counted, show_duration};
use bitcost_service::address::{HostPort, PORT};
use bitcost_service::event::Event;
use bitcost_service::monitor::counts::{Counts, Peer, Queue};
use bitcost_service::monitor::text::text;
use bitcost_service::rules::Rules;
use bitcost_service::{FRONT_VERB, Fronts, Give, Lengths, Service};

use super::clients::{ClientLines, from};
use super::log::Log;
use super::monitoring::Metrics;
use super::privileges;
use crate::failure::Failure;
use crate::signals::stop_on_signals;

/// The name of this service in the figures for monitoring.
const SERVICE: &str = "bitcost";

/// Where the service listens.
#[derive(clap::Args)]
pub struct Place {
    /// Serve enrolled bitcost clients at ADDR: an address, a port, or both, such as `10.0.0.1`,
    /// `:7000` or `[::]:7351` [default: port 7351 of every address of this host]
    #[arg(value_name = "ADDR", value_parser = address)]
    address: Option<SocketAddr>,
    /// Host name to put into enrolment links, if clients reach this host by another name [default:
    /// the address if it is one of this host, else the host's name]
    #[arg(long, value_name = "HOST")]
    link_host: Option<String>,
    /// Maximum number of concurrent tests that do not measure cost (`test --no-cost`). They run at
    /// the same time as the one test that measures cost, and may disturb it; with 0, they wait
    /// their turn like all other tests
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(0..=64))]
    max_no_cost: u16,
    #[command(flatten)]
    folder: Folder,
}

/// Where a service keeps its keys.
#[derive(clap::Args)]
pub struct Folder {
    /// Folder with the service's own key and the keys that it serves [default:
    /// /var/lib/bitcost-service for root, else bitcost/service in the user's state folder]
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
}

impl Folder {
    /// The folder: the one that is named, else the one that systemd gives (`STATE_DIRECTORY`,
    /// systemd.exec(5)), else the default.
    pub fn path(&self) -> PathBuf {
        let of_systemd = || of_systemd(&std::env::var_os("STATE_DIRECTORY")?);
        let asked = self.state.clone().or_else(of_systemd);
        asked.unwrap_or_else(|| {
            let state = bitcost_host::journal::folder();
            match state == Path::new("/var/lib/bitcost") {
                true => PathBuf::from("/var/lib/bitcost-service"),
                false => state.join("service"),
            }
        })
    }
}

/// The folder of the keys among those that systemd gives, with colons between them: a unit whose
/// tests may change settings also has the folder of journals.
fn of_systemd(folders: &OsStr) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(folders).collect();
    let is_named = |folder: &&PathBuf| folder.ends_with("bitcost-service");
    folders.iter().find(is_named).or(folders.first()).cloned()
}

/// Reads `ADDR`.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>().ok();
    if let Some(port) = port {
        return Ok(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port));
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(address);
    }
    let host = text.trim_start_matches('[').trim_end_matches(']');
    let host = host.parse::<IpAddr>().map_err(|_| {
        format!(
            "`{text}` is neither an address nor a port; allowed: `10.0.0.1`, `10.0.0.1:7000`, `[::]:7351`, `:7000`"
        )
    })?;
    Ok(SocketAddr::new(host, PORT))
}

/// Serves until it is stopped.
pub fn run(arguments: &Place, metrics: &Metrics) -> Result<(), Failure> {
    let stop = stop_on_signals()?;
    // Where the limit cannot be raised, fewer connections are taken.
    let _ = bitcost_sys::process::raise_open_files();
    let folder = arguments.folder.path();
    let every = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT);
    let asked = arguments.address.unwrap_or(every);
    let no_cost = usize::from(arguments.max_no_cost);
    let fronts = Arc::new(start_fronts()?);
    let open = |address| {
        let give = give_to(fronts.clone());
        Service::open(
            address,
            &folder,
            Box::new(agent),
            give,
            no_cost,
            stop.clone(),
        )
    };
    let opened = match open(asked) {
        // A host may be without IPv6.
        Err((_, Some(error)))
            if asked.ip().is_unspecified() && error.raw_os_error() == Some(97) =>
        {
            open(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), asked.port()))
        }
        opened => opened,
    };
    let service = opened.map_err(|(why, _)| why)?;
    let counts = Arc::new(Counts::default());
    counts.begin(SERVICE);
    let lengths = service.lengths();
    counts.with_queue(SERVICE, move || {
        let Lengths { running, waiting } = lengths();
        Queue { running, waiting }
    });
    let log = Log::start(&counts)?;
    let (of_counts, for_requests) = (counts.clone(), fronts.clone());
    let answer = Arc::new(move |stream| for_requests.answer(&stream, &text(&of_counts)));
    let responder = metrics.open()?.start(answer, &stop)?;
    announce(&service, arguments, &log)?;
    log.message(&privileges::line(fronts.confined()));
    let mut lines = Lines::default();
    let served = service.serve(|event| {
        count(&counts, &event);
        lines.tell(&event, &log);
    });
    stop.store(true, Ordering::Relaxed);
    if let Some(responder) = responder {
        let _ = responder.join();
    }
    log.result(&lines.summary());
    log.finish();
    Ok(served?)
}

/// Counts what happened to a client for monitoring.
fn count(counts: &Counts, event: &Event) {
    match event {
        Event::Ran { name, key, figures } => {
            let peer = Peer::Key {
                name: harmless(name),
                key: key.to_string(),
            };
            counts.tested(SERVICE, peer, figures.clone());
        }
        Event::Refused { why, .. } => counts.refused(SERVICE, why.by()),
        Event::Failed { .. } => counts.failed(SERVICE),
        Event::Enrolled { .. } | Event::Began { .. } | Event::Ended { .. } => {}
    }
}

/// An agent in a separate process group: Ctrl-C is for the service, which ends it in an orderly way.
fn agent() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["agent", "--of-service"]).process_group(0);
    command
}

/// Starts what speaks with clients.
fn start_fronts() -> Result<Fronts, Failure> {
    Ok(Fronts::start(front)?)
}

/// The process that speaks with clients, which Ctrl-C does not reach either.
fn front() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(FRONT_VERB).process_group(0);
    command
}

fn give_to(fronts: Arc<Fronts>) -> Give {
    Box::new(move |socket: &TcpStream, channel: OwnedFd, key: &[u8]| {
        fronts.give(socket, channel, key)
    })
}

/// Prints what the process that speaks with clients gives up on this host.
pub fn check() -> Result<(), Failure> {
    privileges::check(start_fronts()?.confined())
}

/// Says where it listens; without any key, how the first client is enrolled.
fn announce(service: &Service, arguments: &Place, log: &Log) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Environment(format!("cannot listen: {error}"));
    let address = service.address().map_err(failed)?;
    let at = place(address, arguments.link_host.as_deref())?;
    let store = service.store();
    store.keep_place(&at)?;
    let keys = store.keys()?;
    log.result(&format!(
        "serving bitcost at {} port {}, with the key {}; Ctrl-C ends",
        address.ip(),
        address.port(),
        service.fingerprint()
    ));
    if !keys.is_empty() {
        let keys = counted(keys.len(), "key");
        log.result(&format!(
            "{keys} may use it; `bitcost serve keys` lists them"
        ));
        return Ok(());
    }
    store.withdraw_links()?;
    let token = store.invite(None, Rules::default());
    let token = token?;
    let link = bitcost_service::link::Link {
        at,
        service: service.fingerprint(),
        token,
    };
    log.result(&about_link(&link));
    Ok(())
}

/// A link and what to do with it.
pub fn about_link(link: &bitcost_service::link::Link) -> String {
    let life = show_duration(bitcost_service::store::LINK_LIFE);
    format!("this link enrols one client within {life}:\n  bitcost test tcp '{link}'")
}

fn place(address: SocketAddr, named: Option<&str>) -> Result<HostPort, Failure> {
    let ip = address.ip().to_canonical();
    let host = match named {
        Some(named) => named.to_owned(),
        None if ip.is_unspecified() => bitcost_sys::process::host_name(),
        None => ip.to_string(),
    };
    let text = match host.parse::<Ipv6Addr>() {
        Ok(_) => format!("[{host}]"),
        Err(_) => host,
    };
    let at = HostPort::parse(&text, address.port());
    at.map_err(|why| Failure::Usage(format!("{why}; name the host for links: --link-host HOST")))
}

/// What happened so far.
#[derive(Default)]
struct Lines {
    sessions: usize,
    runs: usize,
    refused: usize,
    failed: usize,
    lines: ClientLines,
}

impl Lines {
    /// Prints sessions on standard output, refusals and failures on standard error.
    fn tell(&mut self, event: &Event, log: &Log) {
        match event {
            Event::Enrolled { peer, name, key } => {
                let name = harmless(name);
                log.result(&format!("{}: enrolled {name}, key {key}", from(*peer)));
            }
            Event::Began { peer, name } => {
                self.sessions += 1;
                log.result(&format!("{}: {} begins", from(*peer), harmless(name)));
            }
            Event::Ended {
                peer,
                name,
                runs,
                time,
                why,
            } => {
                self.runs += *runs as usize;
                let runs = counted(*runs as usize, "run");
                let why = why
                    .as_ref()
                    .map_or(String::new(), |why| format!("; {}", harmless(why)));
                log.result(&format!(
                    "{}: {} ends after {runs} in {:.1} s{why}",
                    from(*peer),
                    harmless(name),
                    time.as_secs_f64()
                ));
            }
            // `--metrics` tells them; the session's last line counts them.
            Event::Ran { .. } => {}
            Event::Refused { peer, name, why } => {
                self.refused += 1;
                let name = name
                    .as_ref()
                    .map_or(String::new(), |name| format!("{name} "));
                self.lines.say(log, *peer, &format!("{name}refused: {why}"));
            }
            Event::Failed { peer, reason } => {
                self.failed += 1;
                self.lines.say(log, *peer, reason);
            }
        }
    }

    fn summary(&self) -> String {
        let mut summary = format!(
            "served {} in {}",
            counted(self.runs, "run"),
            counted(self.sessions, "session")
        );
        for (count, what) in [(self.refused, "refused"), (self.failed, "unauthenticated")] {
            if count > 0 {
                summary += &format!("; {count} {what}");
            }
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_keys_is_found_among_those_of_systemd() {
        for (folders, found) in [
            ("/var/lib/bitcost-service", "/var/lib/bitcost-service"),
            (
                "/var/lib/bitcost:/var/lib/bitcost-service",
                "/var/lib/bitcost-service",
            ),
            ("/var/lib/other", "/var/lib/other"),
        ] {
            let of_systemd = of_systemd(OsStr::new(folders));
            assert_eq!(of_systemd.as_deref(), Some(Path::new(found)));
        }
    }
}
