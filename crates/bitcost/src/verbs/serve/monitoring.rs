//! `--metrics` of `bitcost serve`: where monitoring asks for the figures.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use bitcost_service::monitor::http::{Answer, Responder};

use super::listening::{cannot_listen, place};
use crate::failure::Failure;
use crate::output::say;

/// Where it asks.
#[derive(clap::Args)]
pub struct Metrics {
    /// Serve metrics in Prometheus's text format at http://ADDR/metrics: tests, refusals, the
    /// queue, and the last result of each client. A port alone, such as `:9752`, listens on the
    /// loopback; an address with a port answers everybody who reaches it
    #[arg(long, value_name = "ADDR", value_parser = metrics_address)]
    metrics: Option<SocketAddr>,
}

/// A place that is bound.
pub struct Bound(Option<Responder>);

impl Metrics {
    /// Binds the place, where one is named.
    ///
    /// # Errors
    /// Environment, where the address cannot be used.
    pub fn open(&self) -> Result<Bound, Failure> {
        let opened = self.metrics.map(|address| {
            Responder::open(address).map_err(|error| cannot_listen(address, &error))
        });
        Ok(Bound(opened.transpose()?))
    }
}

impl Bound {
    /// Starts to answer requests.
    ///
    /// # Errors
    /// Environment, where no thread can be started.
    pub fn start(
        self,
        answer: Answer,
        stop: &Arc<AtomicBool>,
    ) -> Result<Option<JoinHandle<()>>, Failure> {
        let Some(responder) = self.0 else {
            return Ok(None);
        };
        let place = place(responder.address());
        let thread = responder.start(answer, stop.clone());
        let thread = thread.map_err(|error| {
            Failure::Environment(format!("cannot start a thread for --metrics: {error}"))
        })?;
        say(&format!("metrics at {place}"));
        Ok(Some(thread))
    }
}

/// Reads the address for monitoring: a port, or an address with a port.
fn metrics_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    match (port.parse::<u16>(), text.parse::<SocketAddr>()) {
        (Ok(port), _) => Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)),
        (_, Ok(address)) => Ok(address),
        _ => Err(format!(
            "`{text}` is neither a port nor an address with one; allowed: `:9752`, `10.0.0.1:9752`, `[::1]:9752`"
        )),
    }
}
