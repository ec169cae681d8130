//! A mesh: runs between pairs of many hosts, in rounds in which a host takes part in one pair at most.

mod plan;
mod rounds;
mod text;

use bitcost_model::study::Label;

pub use text::{MeshFiles, with_hosts, with_pairs};

/// The factor whose level is the host that sends.
pub const SENDER: &str = "sender";
/// The factor whose level is the host that receives.
pub const RECEIVER: &str = "receiver";

/// The factor whose level is the network of a pair.
pub const NETWORK: &str = "network";

/// Most hosts of a mesh.
pub const HOSTS_MOST: usize = 10_000;

/// Most cells of a mesh that is executed: each pair is one at least.
pub const CELLS_MOST: u64 = 100_000;

/// Most runs of a mesh that is executed.
pub const RUNS_MOST: u64 = 1_000_000;

/// Rounds that show each host with a few partners, before full rounds among suspects.
pub const SCREEN: usize = 4;

/// Which pairs of hosts are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Four random perfect matchings; then all pairs of the suspects and as many other hosts.
    Screen,
    /// Every pair.
    AllPairs,
    /// Each host with the next one.
    Ring,
    /// The first host sends to each other one.
    OneToAll,
    /// Each other host sends to the first one.
    AllToOne,
    /// Each host of the first half with one of the second half.
    Bisection,
    /// These senders and receivers.
    Pairs(Vec<(usize, usize)>),
    /// To each host this number of others send at once.
    Incast(usize),
    /// Each host sends to this number of others at once.
    Outcast(usize),
}

impl Pattern {
    /// The patterns that a word names.
    pub const WORDS: [(&str, Pattern); 6] = [
        ("screen", Pattern::Screen),
        ("all-pairs", Pattern::AllPairs),
        ("ring", Pattern::Ring),
        ("one-to-all", Pattern::OneToAll),
        ("all-to-one", Pattern::AllToOne),
        ("bisection", Pattern::Bisection),
    ];

    /// What a study may write.
    pub const ALLOWED: &str =
        "screen, all-pairs, ring, one-to-all, all-to-one, bisection, incast:K or outcast:K";

    /// The pattern that a study writes.
    pub fn parse(text: &str) -> Option<Pattern> {
        let named = Pattern::WORDS.into_iter().find(|(word, _)| *word == text);
        let number = |text: &str| text.parse().ok().filter(|number| *number >= 1);
        named
            .map(|(_, pattern)| pattern)
            .or_else(|| Some(Pattern::Incast(number(text.strip_prefix("incast:")?)?)))
            .or_else(|| Some(Pattern::Outcast(number(text.strip_prefix("outcast:")?)?)))
    }

    /// Its name.
    pub fn name(&self) -> String {
        let named = Pattern::WORDS.iter().find(|(_, pattern)| pattern == self);
        match (self, named) {
            (_, Some((word, _))) => (*word).to_owned(),
            (Pattern::Incast(number), _) => format!("incast:{number}"),
            (Pattern::Outcast(number), _) => format!("outcast:{number}"),
            _ => "pairs".to_owned(),
        }
    }
}

/// A mesh of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// The names of the hosts.
    pub hosts: Vec<String>,
    /// The hosts as the study writes them, with how they are reached: `n1`, `ssh:n1`.
    pub written: Vec<String>,
    /// Whether they are hosts of the study's lab.
    pub is_lab: bool,
    /// Which pairs are measured.
    pub pattern: Pattern,
    /// Whether all pairs of a round are measured at once.
    pub is_concurrent: bool,
    /// The networks of a cluster in which the pairs are measured.
    pub networks: Vec<Network>,
}

bitcost_model::words! {
    /// A network of a Kubernetes cluster.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Network {
        /// That of pods.
        Pod = "pod",
        /// That of the nodes themselves.
        Host = "host",
        /// That of pods, through a Service in front of the receiver.
        Service = "service",
    }
}

impl Network {
    /// What a study may write.
    pub const ALLOWED: &str = "pod, host, service, or a list of them";
}

impl Mesh {
    /// The hosts in each of the networks.
    pub fn stations(&self) -> usize {
        self.hosts.len() * self.networks.len()
    }

    /// The place among the networks of that in which a cell is measured.
    pub fn network(&self, levels: &[(String, Label)]) -> usize {
        let level = levels.iter().find(|(name, _)| name == NETWORK);
        let is_it =
            |network: &Network| level.is_some_and(|(_, label)| label.to_string() == network.name());
        self.networks.iter().position(is_it).unwrap_or_default()
    }

    /// Runs of a block for each cell of the other factors.
    pub fn runs(&self) -> u64 {
        let hosts = self.hosts.len() as u64;
        match &self.pattern {
            Pattern::AllPairs => hosts * (hosts - 1),
            Pattern::Incast(number) | Pattern::Outcast(number) => hosts * *number as u64,
            _ => self
                .groups(0, 0)
                .iter()
                .map(|group| group.len() as u64)
                .sum(),
        }
    }

    /// The most runs in which a host takes part at the same time.
    pub fn at_once(&self) -> usize {
        match self.pattern {
            Pattern::Incast(number) | Pattern::Outcast(number) => number,
            _ => 1,
        }
    }

    /// The place of a host among the hosts.
    pub fn place(&self, host: &Label) -> Option<usize> {
        let name = host.to_string();
        self.hosts.iter().position(|known| *known == name)
    }
}
