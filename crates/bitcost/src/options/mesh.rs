//! The hosts of a mesh, where the command line names them.

use std::path::PathBuf;

use bitcost_execute::Destination;
use bitcost_execute::hosts::slurm::nodes;
use bitcost_model::event::Kubernetes;
use bitcost_study::Study;

use crate::failure::Failure;
use crate::options::cluster::ClusterOptions;
use crate::options::hosts::StudyHosts;
use crate::studies;

/// The hosts of a mesh.
#[derive(clap::Args)]
pub struct MeshOptions {
    /// File with a host on each line: the hosts of the study's mesh, instead of those that it names
    #[arg(long, value_name = "FILE", help_heading = "Hosts")]
    hosts: Option<PathBuf>,
    /// Measure the nodes of the Slurm allocation that bitcost is in; each agent is a step of it
    /// (srun)
    #[arg(long, conflicts_with = "hosts", help_heading = "Hosts")]
    slurm: bool,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// Interface that the data of a mesh takes at each host, such as ib0 [default: that of the
    /// route]
    #[arg(long, value_name = "DEVICE", help_heading = "Hosts")]
    network_device: Option<String>,
}

impl MeshOptions {
    /// The study of this name, with the hosts that are named, and the cluster that they are of.
    ///
    /// # Errors
    /// Usage, when it is none, or has no mesh for the hosts, or a file cannot be read.
    pub fn study(&self, name: &str) -> Result<(Study, Option<Kubernetes>), Failure> {
        let kubernetes = self.cluster.kubernetes()?;
        let hosts = match (&kubernetes, &self.hosts) {
            (Some(spec), _) => Some(self.cluster.hosts(spec)?),
            (None, Some(file)) => Some(studies::lines(file)?),
            (None, None) if self.slurm => {
                let nodes = nodes()?.into_iter().map(|node| format!("slurm:{node}\n"));
                Some(nodes.collect())
            }
            (None, None) => None,
        };
        Ok((studies::find_between(name, hosts.as_deref())?, kubernetes))
    }

    /// Where the study is executed.
    ///
    /// # Errors
    /// Usage, when options do not fit the study.
    pub fn destination(
        &self,
        (study, kubernetes): (&mut Study, Option<Kubernetes>),
        hosts: &StudyHosts,
    ) -> Result<Destination, Failure> {
        match (&study.mesh, &self.network_device) {
            (Some(mesh), device) => hosts.of_mesh(mesh, device.as_deref(), kubernetes),
            (None, Some(_)) => Err(Failure::Usage(
                "--network-device is for the hosts of a mesh; use --receiver-dev".to_owned(),
            )),
            (None, None) => hosts.destination(study),
        }
    }
}
