//! A mesh: runs between pairs of many hosts, in rounds in which a host takes part in one pair at most.

mod plan;
mod rounds;
mod text;

use bitcost_model::study::Label;

pub use text::{MeshFiles, with_hosts};

/// The factor whose level is the host that sends.
pub const SENDER: &str = "sender";
/// The factor whose level is the host that receives.
pub const RECEIVER: &str = "receiver";

/// Rounds that show each host with a few partners.
pub const SCREEN: usize = 4;

/// Which pairs of hosts are measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// Four random perfect matchings.
    #[default]
    Screen,
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

    pub const ALLOWED: &str = "screen, all-pairs, ring, one-to-all, all-to-one or bisection";

    /// The pattern that a study writes.
    pub fn parse(text: &str) -> Option<Pattern> {
        let named = Pattern::WORDS.into_iter().find(|(word, _)| *word == text);
        named.map(|(_, pattern)| pattern)
    }

    pub fn name(&self) -> &'static str {
        let named = Pattern::WORDS.iter().find(|(_, pattern)| pattern == self);
        named.map_or("pairs", |(word, _)| word)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mesh {
    pub hosts: Vec<String>,
    /// The hosts as the study writes them, with how they are reached: `n1`, `ssh:n1`.
    pub written: Vec<String>,
    /// Whether they are hosts of the study's lab.
    pub is_lab: bool,
    pub pattern: Pattern,
    /// Whether all pairs of a round are measured at once.
    pub is_concurrent: bool,
    /// Whether the hosts of a cluster are measured in the network of the nodes, and not in that of pods.
    pub is_host_network: bool,
}

impl Mesh {
    /// Runs of a block for each cell of the other factors.
    pub fn runs(&self) -> u64 {
        let hosts = self.hosts.len() as u64;
        match &self.pattern {
            // A mesh that is refused has too many to list them.
            Pattern::AllPairs => hosts * (hosts - 1),
            _ => {
                let groups = self.groups(0, 0);
                groups.iter().map(|group| group.len() as u64).sum()
            }
        }
    }

    pub fn place(&self, host: &Label) -> Option<usize> {
        let name = host.to_string();
        self.hosts.iter().position(|known| *known == name)
    }
}
