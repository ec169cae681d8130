//! Which hosts play the endpoints, and how they are reached.

use std::net::IpAddr;

use bitcost_execute::hosts::{Host, Named, parse_program};
use bitcost_execute::{Destination, running};
use bitcost_lab::Inside;
use bitcost_model::event::{Kubernetes, NamedHost, NamedHosts};
use bitcost_model::study::LabSpec;
use bitcost_study::mesh::Mesh;

use crate::failure::Failure;

#[derive(clap::Args)]
#[command(next_help_heading = "Hosts")]
pub struct HostOptions {
    /// Host of the receiver: `local`; an ssh destination, such as user@host; the link of a `bitcost
    /// serve`; in a node of a running lab another host of that lab [default: local if --sender is
    /// given, else the embedded lab]
    #[arg(long, value_name = "HOST", value_parser = Host::parse)]
    receiver: Option<Host>,
    /// Host of the sender, written as for --receiver [default: local if --receiver is given, else
    /// the embedded lab]
    #[arg(long, value_name = "HOST", value_parser = Host::parse)]
    sender: Option<Host>,
    /// Interface of the sender whose settings are controlled [default: that of its route to the
    /// receiver]
    #[arg(long, value_name = "DEVICE")]
    sender_dev: Option<String>,
    /// Interface of the receiver whose settings are controlled, and whose address the data is sent
    /// to [default: that of its route to the sender]
    #[arg(long, value_name = "DEVICE")]
    receiver_dev: Option<String>,
    /// Path of bitcost on the hosts that ssh reaches [default: bitcost in their PATH if it is the
    /// same build, otherwise a copy of this program]
    #[arg(long, value_name = "PATH", value_parser = parse_program)]
    remote_program: Option<String>,
    /// Configuration file for ssh, as its option -F
    #[arg(long, value_name = "FILE")]
    ssh_config: Option<String>,
    /// Start the agents with `sudo -n`, so that they may change settings of their hosts
    #[arg(long)]
    sudo: bool,
}

impl HostOptions {
    /// The named hosts; the embedded lab if none was named. `receiver` stands for --receiver.
    pub fn destination(
        &self,
        receiver: Option<&str>,
        receiver_address: Option<IpAddr>,
    ) -> Result<Destination, Failure> {
        let given = receiver.map(Host::parse).transpose()?;
        if !self.are_named() && given.is_none() {
            let address = receiver_address.map(|_| "--receiver-address");
            let why = "needs named hosts; name one with --receiver HOST or --sender HOST";
            return refuse(self.given().chain(address), why).map(|()| Destination::Lab);
        }
        let receiver = given.or_else(|| self.receiver.clone());
        let or_local = |host: Option<Host>| host.unwrap_or(Host::Local);
        let (sender, receiver) = (or_local(self.sender.clone()), or_local(receiver));
        let spec = NamedHosts {
            receiver_address,
            ..self.spec()?
        };
        Ok(Named::new(spec, sender, receiver).into())
    }

    /// This machine and the iperf3 server at `server`, which stands for --receiver.
    pub fn with_iperf3(&self, server: Option<&str>) -> Result<Destination, Failure> {
        let receiver = self.receiver.as_ref();
        let named = receiver.map(|host| host.node().unwrap_or_else(|| "localhost".to_owned()));
        let server = server.or(named.as_deref()).ok_or_else(|| {
            Failure::Usage(
                "--peer iperf3 needs the host of the server: bitcost test tcp HOST --peer iperf3"
                    .to_owned(),
            )
        })?;
        let sender = self.sender.as_ref().map(|_| "--sender");
        let others = self.given();
        let others = others.filter(|option| !["--sender-dev", "--sudo"].contains(option));
        refuse(
            sender.into_iter().chain(others),
            "needs bitcost at both ends; with --peer iperf3 the other end is the server",
        )?;
        let receiver = Host::parse_iperf3(server)?;
        Ok(Named::new(self.spec()?, Host::Local, receiver).into())
    }

    /// How hosts are reached, and their interfaces, without their places.
    fn spec(&self) -> Result<NamedHosts, Failure> {
        let end = |device: &Option<String>| NamedHost {
            place: String::new(),
            device: device.clone(),
        };
        Ok(NamedHosts {
            sender: end(&self.sender_dev),
            receiver: end(&self.receiver_dev),
            receiver_address: None,
            remote_program: self.remote_program.clone(),
            ssh_config: self.ssh_config.as_deref().map(absolute).transpose()?,
            sudo: self.sudo,
            kubernetes: None,
        })
    }

    /// The running lab as the lab of an execution, in a node of which the program is, with the named
    /// hosts of it as endpoints; absent outside of running labs. `receiver` stands for --receiver.
    pub fn in_running_lab(&self, receiver: Option<&str>) -> Result<Option<LabSpec>, Failure> {
        let Some(inside) = Inside::find()? else {
            return Ok(None);
        };
        refuse(
            self.given(),
            "is for hosts that ssh reaches; between nodes of a running lab leave it out",
        )?;
        let name = |host: &Option<Host>| {
            let host = host.as_ref()?;
            Some(host.node().unwrap_or_else(|| inside.node.clone()))
        };
        let (sender, named) = (name(&self.sender), name(&self.receiver));
        let receiver = receiver.or(named.as_deref());
        Ok(Some(running::spec(&inside, sender.as_deref(), receiver)?))
    }

    /// The hosts of a mesh, which its study names, reached as these options say.
    pub fn of_mesh(
        &self,
        mesh: &Mesh,
        address: Option<IpAddr>,
        device: Option<&str>,
        kubernetes: Option<Kubernetes>,
    ) -> Result<Destination, Failure> {
        if self.are_named() {
            return Err(Failure::Usage(
                "--sender and --receiver are for studies of two hosts; the hosts of a mesh are in its [mesh], or in a file: --hosts FILE".to_owned(),
            ));
        }
        let of_two = self.given().filter(|option| option.ends_with("-dev"));
        let of_two = of_two.chain(address.map(|_| "--receiver-address"));
        refuse(of_two, "is for two hosts; of a mesh use --network-device")?;
        if mesh.is_lab {
            let given = self.given().chain(device.map(|_| "--network-device"));
            let why = "needs a mesh of named hosts; this one has those of its lab";
            return refuse(given, why).map(|()| Destination::Lab);
        }
        let place = |host: usize| NamedHost {
            place: mesh.written[host].clone(),
            device: device.map(str::to_owned),
        };
        let spec = NamedHosts {
            sender: place(0),
            receiver: place(1),
            kubernetes: kubernetes.map(Box::new),
            ..self.spec()?
        };
        Ok(Named::from_log(spec)?.into())
    }

    /// Refuses them where a log says how the hosts of its mesh are reached.
    pub fn refuse_given(&self) -> Result<(), Failure> {
        let why = "is that of the log with --resume; leave it out";
        refuse(self.given(), why)
    }

    /// The options that were given of those that say how named hosts are reached.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.sender_dev.is_some(), "--sender-dev"),
            (self.receiver_dev.is_some(), "--receiver-dev"),
            (self.remote_program.is_some(), "--remote-program"),
            (self.ssh_config.is_some(), "--ssh-config"),
            (self.sudo, "--sudo"),
        ];
        let given = all.into_iter().filter(|(is_given, _)| *is_given);
        given.map(|(_, option)| option)
    }

    pub fn are_named(&self) -> bool {
        self.sender.is_some() || self.receiver.is_some()
    }
}

/// Refuses the first of the given options.
fn refuse(given: impl IntoIterator<Item = &'static str>, why: &str) -> Result<(), Failure> {
    match given.into_iter().next() {
        Some(option) => Err(Failure::Usage(format!("{option} {why}"))),
        None => Ok(()),
    }
}

/// The file's absolute path: an execution may be resumed from another folder.
fn absolute(file: &str) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::Usage(format!("--ssh-config {file}: {error}"));
    let path = std::fs::canonicalize(file).map_err(failed)?;
    Ok(path.to_string_lossy().into_owned())
}
