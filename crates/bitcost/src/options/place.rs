//! Where a study is executed: in its lab, between two hosts, or between the hosts of a mesh.

use std::net::IpAddr;
use std::path::PathBuf;

use bitcost_execute::hosts::{kubernetes, slurm};
use bitcost_execute::{Destination, Logged};
use bitcost_model::event::Kubernetes;
use bitcost_study::Study;

use crate::failure::Failure;
use crate::options::hosts::HostOptions;
use crate::studies;

#[derive(clap::Args)]
#[command(next_help_heading = "Hosts")]
pub struct Place {
    #[command(flatten)]
    ends: HostOptions,
    /// Address of the receiver that the data is sent to [default: that of its host name, or of
    /// --receiver-dev]
    #[arg(long, value_name = "ADDR")]
    receiver_address: Option<IpAddr>,
    /// File with a host on each line: the hosts of the study's mesh, instead of those that it names
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Measure the nodes of the Slurm allocation that bitcost is in; each agent is a step of it
    /// (srun)
    #[arg(long, conflicts_with = "hosts")]
    slurm: bool,
    /// Measure the nodes of the Kubernetes cluster that kubectl reaches; an agent runs in a pod on
    /// each
    #[arg(long, requires = "image", conflicts_with_all = ["hosts", "slurm"])]
    kubernetes: bool,
    /// Image of the pods, which has bitcost on its PATH (the repository has a Dockerfile)
    #[arg(long, value_name = "IMAGE", requires = "kubernetes")]
    image: Option<String>,
    /// When the image is pulled
    #[arg(long, value_name = "POLICY", requires = "kubernetes", default_value = "IfNotPresent", value_parser = ["Always", "IfNotPresent", "Never"])]
    image_pull_policy: String,
    /// Namespace of the pods [default: that of kubectl's context]
    #[arg(long, value_name = "NAME", requires = "kubernetes")]
    namespace: Option<String>,
    /// Measure the nodes with these labels, also those with taints, such as rack=r12 [default: all
    /// nodes without a taint that keeps pods away]
    #[arg(long, value_name = "LABELS", requires = "kubernetes")]
    node_selector: Option<String>,
    /// Interface that the data of a mesh takes at each host, such as ib0 [default: that of the
    /// route]
    #[arg(long, value_name = "DEVICE")]
    network_device: Option<String>,
}

impl Place {
    /// The study of this name, with the hosts that are named, and the cluster that they are of.
    pub fn study(&self, name: &str) -> Result<(Study, Option<Kubernetes>), Failure> {
        let (mut hosts, mut cluster) = (None, None);
        if self.kubernetes {
            let spec = Kubernetes {
                context: kubernetes::context()?,
                namespace: self.namespace.clone(),
                image: self.image.clone().unwrap_or_default(),
                pull_policy: self.image_pull_policy.clone(),
            };
            let targets = kubernetes::hosts(&spec, self.node_selector.as_deref())?;
            hosts = Some(targets.iter().map(|target| target.place() + "\n").collect());
            cluster = Some(spec);
        } else if self.slurm {
            let nodes = slurm::nodes()?.into_iter();
            hosts = Some(nodes.map(|node| format!("slurm:{node}\n")).collect());
        } else if let Some(file) = &self.hosts {
            hosts = Some(studies::lines(file)?);
        }
        Ok((studies::find(name, hosts.as_deref())?, cluster))
    }

    /// Where the study is executed. In a node of a running lab of which hosts are named, its lab is
    /// then that one.
    pub fn destination(
        &self,
        study: &mut Study,
        cluster: Option<Kubernetes>,
    ) -> Result<Destination, Failure> {
        match (&study.mesh, &self.network_device) {
            (Some(mesh), device) => {
                let address = self.receiver_address;
                self.ends.of_mesh(mesh, address, device.as_deref(), cluster)
            }
            (None, Some(_)) => Err(Failure::Usage(
                "--network-device is for the hosts of a mesh; use --receiver-dev".to_owned(),
            )),
            (None, None) => {
                if self.ends.are_named()
                    && let Some(lab) = self.ends.in_running_lab(None)?
                {
                    study.lab = lab;
                    return Ok(Destination::Lab);
                }
                self.ends.destination(None, self.receiver_address)
            }
        }
    }

    /// As [`Place::destination`], for an execution that is resumed, whose lab is that of its log.
    pub fn of_logged(&self, log: &Logged) -> Result<Destination, Failure> {
        let address = self.receiver_address;
        let Some(mesh) = &log.study.mesh else {
            return self.ends.destination(None, address);
        };
        let destination = self.ends.of_mesh(mesh, address, None, None)?;
        // A log without its hosts does not say how they are reached, either.
        if log.prepared.is_some() {
            self.ends.refuse_given()?;
        }
        Ok(destination)
    }
}
