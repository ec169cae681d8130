//! The nodes of a Kubernetes cluster as the hosts of a mesh.

use bitcost_execute::hosts::kubernetes::{context, hosts};
use bitcost_model::event::Kubernetes;

use crate::failure::Failure;

/// Which nodes are hosts, and what is started there.
#[derive(clap::Args)]
pub struct ClusterOptions {
    /// Measure the nodes of the Kubernetes cluster that kubectl reaches; an agent runs in a pod on
    /// each
    #[arg(long, requires = "image", conflicts_with_all = ["hosts", "slurm"], help_heading = "Hosts")]
    kubernetes: bool,
    /// Image of the pods, which has bitcost on its PATH (the repository has a Dockerfile)
    #[arg(
        long,
        value_name = "IMAGE",
        requires = "kubernetes",
        help_heading = "Hosts"
    )]
    image: Option<String>,
    /// When the image is pulled
    #[arg(long, value_name = "POLICY", requires = "kubernetes", default_value = "IfNotPresent", value_parser = ["Always", "IfNotPresent", "Never"], help_heading = "Hosts")]
    image_pull_policy: String,
    /// Namespace of the pods [default: that of kubectl's context]
    #[arg(
        long,
        value_name = "NAME",
        requires = "kubernetes",
        help_heading = "Hosts"
    )]
    namespace: Option<String>,
    /// Measure the nodes with these labels, also those with taints, such as rack=r12 [default: all
    /// nodes without a taint that keeps pods away]
    #[arg(
        long,
        value_name = "LABELS",
        requires = "kubernetes",
        help_heading = "Hosts"
    )]
    node_selector: Option<String>,
}

impl ClusterOptions {
    /// How containers are started; absent without --kubernetes.
    ///
    /// # Errors
    /// Environment, when there is no kubectl.
    pub fn kubernetes(&self) -> Result<Option<Kubernetes>, Failure> {
        if !self.kubernetes {
            return Ok(None);
        }
        Ok(Some(Kubernetes {
            context: context()?,
            namespace: self.namespace.clone(),
            image: self.image.clone().unwrap_or_default(),
            pull_policy: self.image_pull_policy.clone(),
        }))
    }

    /// The hosts of this cluster, a line each.
    ///
    /// # Errors
    /// Environment, when the cluster cannot be reached, or has no such nodes.
    pub fn hosts(&self, spec: &Kubernetes) -> Result<String, Failure> {
        let targets = hosts(spec, self.node_selector.as_deref())?;
        Ok(targets.iter().map(|target| target.place() + "\n").collect())
    }
}
