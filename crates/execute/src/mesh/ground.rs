//! The hosts of a mesh: their agents, addresses and descriptions.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bitcost_controller::{Endpoint, Endpoints, Pool, Session};
use bitcost_model::event::{EndpointDescription, Event, NamedHosts};
use bitcost_model::machine::HostDescription;
use bitcost_model::place::Places;
use bitcost_model::plan::Plan;
use bitcost_model::record::Role;
use bitcost_study::Study;
use bitcost_study::mesh::Mesh;

use crate::destination::Destination;
use crate::embedded::BuiltLab;
use crate::error::ExecuteError;
use crate::hosts::kubernetes::Cluster;
use crate::hosts::kubernetes::target::Target;
use crate::hosts::{Host, Named};
use crate::local::separate_cpus;
use crate::progress::Progress;

pub struct Ground {
    /// This field is first: a lab must outlast its agents.
    pub pool: Pool,
    places: Vec<String>,
    way: Way,
    addresses: Vec<Option<IpAddr>>,
    described: Vec<Option<HostDescription>>,
    requested: Places,
    notes: Vec<String>,
    /// The CPUs of the sender and the receiver, where both are on this machine.
    cpus: Option<(u32, u32)>,
}

enum Way {
    Lab(BuiltLab),
    Hosts {
        spec: Box<NamedHosts>,
        hosts: Vec<Host>,
        cluster: Option<Cluster>,
    },
}

/// What pods may take more than three times the runs of a mesh, before the cluster ends them.
const SPARE: Duration = Duration::from_secs(1800);

/// The hosts, those of a cluster in the network of the mesh.
fn hosts_of(mesh: &Mesh) -> Result<Vec<Host>, ExecuteError> {
    let written = mesh.written.iter().map(|name| Named::of_mesh(name));
    let mut hosts: Vec<Host> = written.collect::<Result<_, _>>()?;
    for host in hosts.iter_mut().filter(|_| mesh.is_host_network) {
        match host {
            Host::Kubernetes(target) => target.host_network = true,
            _ => {
                return Err(ExecuteError::Usage(
                    "`network` of [mesh] is for the pods of --kubernetes; leave it out".to_owned(),
                ));
            }
        }
    }
    Ok(hosts)
}

/// Refuses what the runs of a mesh cannot request.
fn possible(plan: &Plan) -> Result<(), ExecuteError> {
    let refused = plan.cells.iter().find_map(|cell| {
        let conditions = &cell.conditions;
        let all = [
            (conditions.mode_auto, "mode = \"auto\""),
            (
                conditions.emulator_queue_limit.is_some(),
                "emulator_queue_limit",
            ),
            (conditions.path_change.is_some(), "path_change"),
            (conditions.moderation_us.is_some(), "moderation"),
        ];
        let mut there = all.into_iter().filter(|(is_there, _)| *is_there);
        there.next().map(|(_, name)| name)
    });
    refused.map_or(Ok(()), |name| {
        Err(ExecuteError::Usage(format!(
            "the runs of a mesh have no {name}; leave it out, or study two hosts"
        )))
    })
}

/// The containers of agents, where the hosts are of a cluster.
fn cluster(
    spec: &NamedHosts,
    hosts: &[Host],
    plan: &Plan,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Option<Cluster>, ExecuteError> {
    let target = |host: &Host| match host {
        Host::Kubernetes(target) => Some(target.clone()),
        _ => None,
    };
    let targets: Vec<Target> = hosts.iter().filter_map(target).collect();
    match &spec.kubernetes {
        None if targets.is_empty() => Ok(None),
        Some(of) if targets.len() == hosts.len() => {
            let deadline = plan.total_time() * 3 + SPARE;
            let how = (spec.remote_program.as_deref(), deadline);
            Cluster::open(of, targets, how, stop, progress).map(Some)
        }
        Some(_) => Err(ExecuteError::Usage(
            "either all hosts of a mesh or none must be in the Kubernetes cluster".to_owned(),
        )),
        None => Err(ExecuteError::Usage(
            "hosts of a cluster need --kubernetes and --image, which start their containers"
                .to_owned(),
        )),
    }
}

impl Ground {
    /// Starts an agent at each host; a host without one is reported, and the others go on.
    pub fn open(
        (study, mesh, plan): (&Study, &Mesh, &Plan),
        destination: &Destination,
        stop: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Ground, ExecuteError> {
        possible(plan)?;
        destination.check(study)?;
        let (way, places, notes) = match destination {
            Destination::Lab => {
                let hosts: Vec<&str> = mesh.hosts.iter().map(String::as_str).collect();
                let lab = BuiltLab::new(&study.lab, &hosts)?;
                let places = mesh.hosts.iter().map(|host| format!("netns:{host}"));
                let notes = lab.lab.notes().to_vec();
                (Way::Lab(lab), places.collect(), notes)
            }
            Destination::Hosts(named) => {
                let hosts = hosts_of(mesh)?;
                if stop.load(Ordering::Relaxed) {
                    return Err(ExecuteError::Interrupted);
                }
                let places = hosts.iter().map(Host::place).collect();
                let cluster = cluster(&named.spec, &hosts, plan, stop, progress)?;
                let spec = Box::new(named.spec.clone());
                (
                    Way::Hosts {
                        spec,
                        hosts,
                        cluster,
                    },
                    places,
                    Vec::new(),
                )
            }
        };
        let count = mesh.hosts.len();
        let mut ground = Ground {
            pool: Pool::new(count),
            places,
            way,
            addresses: vec![None; count],
            described: vec![None; count],
            requested: study.base.places.clone(),
            notes,
            cpus: separate_cpus().filter(|_| !mesh.is_concurrent),
        };
        ground.find_addresses(stop);
        let all: Vec<usize> = (0..count).collect();
        ground.start(&all, stop);
        if stop.load(Ordering::Relaxed) {
            return Err(ExecuteError::Interrupted);
        }
        ground.check(progress)?;
        Ok(ground)
    }

    /// Starts the agents of these hosts that have none, and has them describe their hosts.
    pub fn start(&mut self, hosts: &[usize], stop: &AtomicBool) {
        let missing = hosts.iter().filter(|host| self.pool.may_start(**host));
        let starting = missing.map(|host| {
            let mut others = self.addresses.iter().enumerate();
            let other = others.find(|(other, address)| other != host && address.is_some());
            (
                *host,
                self.endpoint(*host),
                other.and_then(|(_, address)| *address),
            )
        });
        let starting = starting.collect();
        for (host, mut described) in self.pool.start(starting, stop) {
            if let Way::Lab(lab) = &self.way {
                lab.complete(host, &mut described);
            }
            self.described[host] = Some(described);
        }
    }

    /// How the agent of a host is started, with the interface that it is described by.
    fn endpoint(&self, host: usize) -> Endpoint {
        let (endpoint, device) = match &self.way {
            Way::Lab(lab) => (
                lab.endpoint(host, Vec::new()),
                Some(lab.hosts[host].device.clone()),
            ),
            Way::Hosts {
                spec,
                hosts,
                cluster,
            } => {
                let endpoint = match cluster {
                    Some(cluster) => cluster.endpoint(host),
                    None => hosts[host].endpoint(spec),
                };
                (endpoint, spec.receiver.device.clone())
            }
        };
        Endpoint {
            device: device.unwrap_or_default(),
            ..endpoint
        }
    }

    /// Finds the addresses of hosts that are known before their agents are asked.
    fn find_addresses(&mut self, stop: &AtomicBool) {
        let version = self.requested.asked_version();
        for (host, address) in self.addresses.iter_mut().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            *address = match &self.way {
                Way::Lab(lab) => Some(lab.hosts[host].address),
                Way::Hosts { spec, .. } if spec.receiver.device.is_some() => None,
                Way::Hosts {
                    cluster: Some(cluster),
                    ..
                } => cluster.address(host, version),
                Way::Hosts { spec, hosts, .. } => {
                    let address = hosts[host].address(spec, version).ok().flatten();
                    address.filter(|address| !address.is_loopback())
                }
            };
        }
    }

    fn check(&mut self, progress: &mut dyn Progress) -> Result<(), ExecuteError> {
        let missing = (0..self.places.len()).filter_map(|host| {
            let reason = self.pool.missing(host)?;
            Some(format!("{} has no agent: {reason}", self.places[host]))
        });
        let missing: Vec<String> = missing.collect();
        if self.places.len() < missing.len() + 2 {
            return Err(ExecuteError::Environment(format!(
                "a mesh needs two hosts with an agent: {}",
                missing.join("\n")
            )));
        }
        let others = "; its runs have no result, the others are made";
        missing
            .iter()
            .for_each(|line| progress.message(&format!("{line}{others}")));
        self.notes.extend(missing);
        Ok(())
    }

    /// The hosts that were described: the first as the sender, the others as receivers.
    pub fn ends(&self) -> Vec<EndpointDescription> {
        let hosts = self.places.iter().zip(&self.described);
        let there = hosts.filter_map(|(place, host)| Some((place, host.clone()?)));
        let roles = std::iter::once(Role::Sender).chain(std::iter::repeat(Role::Receiver));
        roles
            .zip(there)
            .map(|(role, (place, host))| EndpointDescription {
                role,
                place: place.clone(),
                host,
            })
            .collect()
    }

    pub fn event(&self, study: &Study, destination: &Destination) -> Event {
        let (ends, notes) = (self.ends(), self.notes.clone());
        destination.place(study, (ends, self.share_cpus()), notes, None)
    }

    /// Whether hosts are on one machine.
    fn share_cpus(&self) -> bool {
        let boots = self.described.iter().flatten();
        let boots: Vec<&String> = boots.filter_map(|host| host.boot_id.as_ref()).collect();
        let different: BTreeSet<&String> = boots.iter().copied().collect();
        different.len() < boots.len() || matches!(self.way, Way::Lab(_))
    }

    pub fn place(&self, host: usize) -> &str {
        &self.places[host]
    }

    /// The endpoints of a run between two hosts, whose agents are there.
    pub fn ends_of(&self, [sender, receiver]: [usize; 2]) -> Endpoints {
        let here = bitcost_probe::host::boot_id();
        let is_here = |host: usize| {
            let described = self.described[host].as_ref();
            described
                .is_some_and(|described| described.boot_id.is_some() && described.boot_id == here)
        };
        let cpus = self.cpus.filter(|_| is_here(sender) && is_here(receiver));
        let of = |host: usize, cpu: Option<u32>| {
            let endpoint = Endpoint::pooled(self.places[host].clone());
            match &self.way {
                Way::Lab(lab) => lab.placed(host, cpu, endpoint),
                Way::Hosts { .. } => Endpoint {
                    cpus: cpu.into_iter().collect(),
                    ..endpoint
                },
            }
        };
        [
            of(sender, cpus.map(|two| two.0)),
            of(receiver, cpus.map(|two| two.1)),
        ]
    }

    /// Finds the addresses and interfaces that the data takes between the hosts of a session.
    pub fn connect(
        &self,
        session: &mut Session,
        [sender, receiver]: [usize; 2],
    ) -> Result<(), ExecuteError> {
        let Way::Hosts { spec, hosts, .. } = &self.way else {
            return Ok(());
        };
        let spec = NamedHosts {
            sender: spec.receiver.clone(),
            receiver_address: self.addresses[receiver],
            ..(**spec).clone()
        };
        let named = Named::new(spec, hosts[sender].clone(), hosts[receiver].clone());
        named.connect(session, &self.requested)
    }
}
