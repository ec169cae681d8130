//! The rounds of a mesh: proper edge colourings, in an order drawn from a seed.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::{Mesh, Pattern, SCREEN};
use crate::plan::shuffle;

/// A sender and a receiver, by their places among the hosts.
pub type Pair = (usize, usize);

/// Mixed into the seed, so that rounds and the order of cells are drawn independently.
const ROUNDS: u64 = 0x6d65_7368;

impl Mesh {
    /// The pairs of a block in groups, one after the other. In a group no host is in two pairs. Both directions of a pair are in two groups that follow each other.
    pub fn groups(&self, seed: u64, block: u32) -> Vec<Vec<Pair>> {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ ROUNDS);
        random.set_stream(u64::from(block));
        let random = &mut random;
        let hosts = self.hosts.len();
        match &self.pattern {
            Pattern::Screen => {
                let rounds = matchings(hosts, SCREEN, random);
                both_ways(rounds, random)
            }
            Pattern::AllPairs => both_ways(matchings(hosts, usize::MAX, random), random),
            Pattern::Ring if hosts == 2 => both_ways(vec![vec![(0, 1)]], random),
            Pattern::Ring => {
                let edges = (0..hosts).map(|host| (host, (host + 1) % hosts));
                let mut rounds = coloured(edges);
                shuffle(&mut rounds, random);
                both_ways(rounds, random)
            }
            Pattern::Bisection => {
                let half = hosts / 2;
                both_ways(
                    vec![(0..half).map(|host| (host, host + half)).collect()],
                    random,
                )
            }
            Pattern::OneToAll => one_by_one((1..hosts).map(|other| (0, other)), random),
            Pattern::AllToOne => one_by_one((1..hosts).map(|other| (other, 0)), random),
            Pattern::Pairs(pairs) => {
                let mut pairs = pairs.clone();
                shuffle(&mut pairs, random);
                coloured(pairs.into_iter())
            }
        }
    }

    /// The pairs of the groups of a block, both directions of a round as one: for people.
    pub fn rounds(&self, seed: u64, block: u32) -> usize {
        let groups = self.groups(seed, block).len();
        match self.pattern {
            Pattern::Screen | Pattern::AllPairs | Pattern::Ring | Pattern::Bisection => groups / 2,
            _ => groups,
        }
    }
}

/// Every pair of this number of hosts in perfect matchings, in random order, of which `most` are made: one round fewer than
/// hosts, or as many where their number is odd and one host rests in each (the circle method).
fn matchings(hosts: usize, most: usize, random: &mut ChaCha8Rng) -> Vec<Vec<Pair>> {
    let mut names: Vec<usize> = (0..hosts).collect();
    shuffle(&mut names, random);
    let circle = hosts + hosts % 2 - 1;
    let round = |turn: usize| -> Vec<Pair> {
        let around =
            (1..=circle / 2).map(|step| ((turn + step) % circle, (turn + circle - step) % circle));
        let pairs = std::iter::once((circle, turn)).chain(around);
        let there = pairs.filter(|(a, b)| *a < hosts && *b < hosts);
        there.map(|(a, b)| (names[a], names[b])).collect()
    };
    let mut turns: Vec<usize> = (0..circle).collect();
    shuffle(&mut turns, random);
    turns.into_iter().take(most).map(round).collect()
}

/// Each pair in the first round in which both of its hosts are free.
fn coloured(pairs: impl Iterator<Item = Pair>) -> Vec<Vec<Pair>> {
    let mut rounds: Vec<(Vec<Pair>, std::collections::HashSet<usize>)> = Vec::new();
    for (a, b) in pairs {
        let free = rounds
            .iter_mut()
            .find(|(_, taken)| !taken.contains(&a) && !taken.contains(&b));
        match free {
            Some((round, taken)) => {
                round.push((a, b));
                taken.extend([a, b]);
            }
            None => rounds.push((vec![(a, b)], [a, b].into())),
        }
    }
    rounds.into_iter().map(|(round, _)| round).collect()
}

/// Each round in both directions, in which pairs have a random order and a random first direction.
fn both_ways(rounds: Vec<Vec<Pair>>, random: &mut ChaCha8Rng) -> Vec<Vec<Pair>> {
    let mut groups = Vec::new();
    for mut round in rounds {
        shuffle(&mut round, random);
        let mut ways = [false, true];
        for pair in &mut round {
            shuffle(&mut ways, random);
            if ways[0] {
                *pair = (pair.1, pair.0);
            }
        }
        let back = round.iter().map(|(a, b)| (*b, *a)).collect();
        groups.extend([round, back]);
    }
    groups
}

fn one_by_one(pairs: impl Iterator<Item = Pair>, random: &mut ChaCha8Rng) -> Vec<Vec<Pair>> {
    let mut groups: Vec<Vec<Pair>> = pairs.map(|pair| vec![pair]).collect();
    shuffle(&mut groups, random);
    groups
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn mesh(hosts: usize, pattern: Pattern) -> Mesh {
        Mesh {
            hosts: (0..hosts).map(|host| format!("n{host}")).collect(),
            pattern,
            ..Mesh::default()
        }
    }

    /// Whether no host is twice in the group.
    fn is_matching(group: &[Pair]) -> bool {
        let hosts: BTreeSet<usize> = group.iter().flat_map(|(a, b)| [*a, *b]).collect();
        hosts.len() == 2 * group.len()
    }

    #[test]
    fn all_pairs_are_there_once_a_direction_in_the_fewest_rounds() {
        for hosts in 2..20 {
            for seed in 0..3 {
                let mesh = mesh(hosts, Pattern::AllPairs);
                let groups = mesh.groups(seed, 0);
                let least = if hosts % 2 == 0 { hosts - 1 } else { hosts };
                assert_eq!((groups.len(), mesh.rounds(seed, 0)), (2 * least, least));
                assert!(groups.iter().all(|group| is_matching(group)), "{hosts}");
                let pairs: BTreeSet<Pair> = groups.iter().flatten().copied().collect();
                assert_eq!(pairs.len() as u64, mesh.runs());
                assert_eq!(
                    groups.iter().map(Vec::len).sum::<usize>(),
                    hosts * (hosts - 1)
                );
            }
        }
    }

    #[test]
    fn every_other_pattern_has_no_host_twice_in_a_group() {
        let star = (1..9).map(|host| (0, host)).collect();
        let patterns = [
            Pattern::Screen,
            Pattern::Ring,
            Pattern::OneToAll,
            Pattern::AllToOne,
            Pattern::Bisection,
            Pattern::Pairs(star),
        ];
        for pattern in patterns {
            for hosts in [9, 10] {
                let mesh = mesh(hosts, pattern.clone());
                let groups = mesh.groups(7, 0);
                assert!(groups.iter().all(|group| is_matching(group)), "{pattern:?}");
                let all: Vec<Pair> = groups.concat();
                let once: BTreeSet<Pair> = all.iter().copied().collect();
                assert_eq!(all.len(), once.len(), "{pattern:?}");
            }
        }
        assert_eq!(mesh(10, Pattern::Screen).rounds(1, 0), SCREEN);
        assert_eq!(mesh(10, Pattern::Ring).rounds(1, 0), 2);
        assert_eq!(mesh(9, Pattern::Ring).rounds(1, 0), 3);
    }

    #[test]
    fn the_seed_decides_the_order_and_blocks_have_others() {
        let mesh = mesh(16, Pattern::Screen);
        assert_eq!(mesh.groups(1, 0), mesh.groups(1, 0));
        assert_ne!(mesh.groups(1, 0), mesh.groups(2, 0));
        assert_ne!(mesh.groups(1, 0), mesh.groups(1, 1));
    }
}
