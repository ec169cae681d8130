//! `bitcost agent`: plays one endpoint of each run for a controller on standard input and output.

use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;

use bitcost_agent::{Between, Journaling, Node, Place};

use bitcost_execute::hosts::kubernetes::hold;
use bitcost_execute::identity;
use bitcost_model::confinement::Confinement;
use bitcost_model::place::EndpointPlace;
use bitcost_service::client::{self, Carried};
use bitcost_service::link::{LINK_VARIABLE, Link};

use crate::failure::Failure;
use crate::output;
use crate::signals::stop_on_signals;

#[derive(clap::Args)]
pub struct Arguments {
    /// The host is a namespace of a lab, which ends with its processes: keep no journal of its
    /// settings
    #[arg(long)]
    pub in_lab: bool,
    /// Node between the endpoints whose counters are also read, with a file that refers to its
    /// network namespace
    #[arg(long, value_name = "NAME=PATH", value_parser = node)]
    pub between: Vec<Node>,
    /// File with the counters of the lab's link emulators, which are also read
    #[arg(long, value_name = "PATH")]
    pub emulators: Option<PathBuf>,
    /// Carry the messages of a controller to an agent of the service whose link is in the
    /// environment, from this address and interface
    #[arg(long, hide = true, value_name = "JSON", value_parser = |text: &str| serde_json::from_str::<EndpointPlace>(text), conflicts_with_all = ["in_lab", "between", "emulators", "iperf3", "identify"])]
    pub at_service: Option<EndpointPlace>,
    /// What the service that started this agent holds it to
    #[arg(long, hide = true, value_name = "JSON", value_parser = |text: &str| serde_json::from_str::<Confinement>(text), conflicts_with = "at_service")]
    pub of_service: Option<Confinement>,
    /// Play the endpoint of the iperf3 server at this address, by speaking with it
    #[arg(long, hide = true, value_name = "ADDR")]
    pub iperf3: Option<SocketAddr>,
    /// Start no agent, and wait until no other agent is here: the first process of a container
    #[arg(long, hide = true)]
    pub hold: bool,
    /// Print which program this is, and nothing else
    #[arg(long, hide = true)]
    pub identify: bool,
}

fn node(text: &str) -> Result<Node, String> {
    let (name, path) = text
        .split_once('=')
        .ok_or("a name and a path, such as w1=/proc/17/fd/5")?;
    Ok(Node {
        name: name.to_owned(),
        namespace: path.into(),
    })
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.identify {
        return output::line(identity::line()?);
    }
    if arguments.hold {
        hold(&*stop_on_signals()?);
        return Ok(());
    }
    if let Some(from) = &arguments.at_service {
        return carry(from);
    }
    if let Some(server) = arguments.iperf3 {
        // Without a buffer: whether there is more to read, the file says.
        let input = std::io::stdin().as_fd().try_clone_to_owned();
        let input = input.map_err(|error| Failure::Environment(error.to_string()))?;
        bitcost_iperf3::client::serve(server, File::from(input), std::io::stdout())?;
        return Ok(());
    }
    let journaling = if arguments.in_lab {
        Journaling::default()
    } else {
        Journaling::in_folder(bitcost_host::journal::folder())
    };
    let between = Between {
        nodes: arguments.between.clone(),
        emulators: arguments.emulators.clone(),
        lab: std::env::var_os(bitcost_lab::inside::STATE).map(Into::into),
    };
    let place = Place::of(arguments.of_service.clone(), between);
    bitcost_agent::serve(std::io::stdin(), std::io::stdout(), &journaling, &place)
        .map_err(|error| Failure::Environment(error.to_string()))
}

/// Carries the messages of a controller to an agent of the service of the link in the environment.
fn carry(from: &EndpointPlace) -> Result<(), Failure> {
    let link = std::env::var(LINK_VARIABLE).unwrap_or_default();
    let carried = client::carry(&Link::parse(&link)?, from, &mut output::say);
    match carried.map_err(|error| Failure::Environment(error.to_string()))? {
        Carried::Done => Ok(()),
        Carried::Lost => Err(Failure::Program(3)),
    }
}
