//! The plan of a mesh: a cell for each pair of hosts and each cell of the study's own factors.

use std::collections::BTreeMap;

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::plan::{Lengths, Plan, PlannedRun};
use bitcost_model::study::{Cell, Label};

use super::{Mesh, RECEIVER, SENDER};
use crate::limits::{MESH_CELLS, RUNS};
use crate::plan::shuffled;

impl Mesh {
    /// Every run of this many blocks in its order. The runs of a group follow each other, once for each of the
    /// study's own cells, in an order drawn from the seed.
    pub(crate) fn plan(&self, own: &[Cell], seed: u64, lengths: Lengths, blocks: u32) -> Plan {
        let mut order = Vec::new();
        // A log may name a mesh that nobody made: its plan has no runs.
        let blocks = match self.check_runs(own.len(), blocks) {
            Ok(()) => blocks,
            Err(_) => 0,
        };
        for block in 0..blocks {
            for group in self.groups(seed, block) {
                for cell in shuffled(own.len(), seed, order.len() as u32) {
                    order.extend(group.iter().map(|pair| (block, (*pair, cell))));
                }
            }
        }
        let mut places: BTreeMap<((usize, usize), usize), usize> =
            order.iter().map(|(_, cell)| (*cell, 0)).collect();
        places
            .values_mut()
            .zip(0..)
            .for_each(|(place, number)| *place = number);
        let cells = places.keys().map(|((sender, receiver), cell)| {
            let host =
                |name: &str, host: usize| (name.to_owned(), Label::Text(self.hosts[host].clone()));
            let mut levels = vec![host(SENDER, *sender), host(RECEIVER, *receiver)];
            levels.extend(own[*cell].levels.iter().cloned());
            let conditions = Conditions {
                // Hosts of a mesh are not idle together before a block, in which each plays many runs.
                idle_baseline_ms: Some(0),
                ..own[*cell].conditions.clone()
            };
            Cell { conditions, levels }
        });
        Plan {
            seed,
            blocks,
            lengths: Some(lengths),
            is_profiled: false,
            cells: cells.collect(),
            runs: order
                .iter()
                .zip(0..)
                .map(|((block, cell), index)| PlannedRun {
                    index,
                    block: *block,
                    cell: places[cell],
                })
                .collect(),
        }
    }

    /// The lengths of the groups of a plan's runs, in order: the runs of one group may be made at once.
    pub fn group_lengths(&self, plan: &Plan) -> Vec<usize> {
        let mut lengths = Vec::new();
        for block in 0..plan.blocks {
            let groups = self.groups(plan.seed, block);
            let pairs: usize = groups.iter().map(Vec::len).sum();
            let runs = plan.runs.iter().filter(|run| run.block == block).count();
            let own = runs / pairs.max(1);
            lengths.extend(groups.iter().flat_map(|group| vec![group.len(); own]));
        }
        lengths
    }

    /// Checks that a mesh with this number of cells for each pair is small enough to be made in these blocks.
    pub(crate) fn check_runs(&self, of_each: usize, blocks: u32) -> Result<(), Invalid> {
        let cells = self.runs().saturating_mul(of_each as u64);
        let runs = cells.saturating_mul(blocks.into());
        if cells <= MESH_CELLS && runs <= RUNS {
            return Ok(());
        }
        Err(Invalid(format!(
            "{} hosts with the pattern {} are {cells} cells and {runs} runs; allowed: at most {MESH_CELLS} and {RUNS}; the pattern screen needs the fewest",
            self.hosts.len(),
            self.pattern.name()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Study;

    const TEXT: &str = "title = \"a\"\nquestion = \"b\"\n[lab]\nhosts = [\"h1\", \"h2\", \"h3\", \"h4\", \"h5\", \"h6\"]\nswitches = [\"s1\"]\n[[lab.link]]\nends = [\"h1\", \"s1\"]\n[[lab.link]]\nends = [\"h2\", \"s1\"]\n[[lab.link]]\nends = [\"h3\", \"s1\"]\n[[lab.link]]\nends = [\"h4\", \"s1\"]\n[[lab.link]]\nends = [\"h5\", \"s1\"]\n[[lab.link]]\nends = [\"h6\", \"s1\"]\n[mesh]\npattern = \"all-pairs\"\n[workload]\nworkload = \"tcp_stream\"\n[[factor]]\nname = \"message_size_bytes\"\nlevels = [1024, 8192]\n";

    #[test]
    fn an_expected_cell_of_a_mesh_is_of_its_hosts() {
        let expect = |cell: &str| {
            let text = format!(
                "{TEXT}[expect]\nsource = \"a page\"\n[[expect.cell]]\n{cell}\nthroughput_mbps = 900\n"
            );
            Study::parse("mesh.toml", &text).map(|study| study.expect)
        };
        let found = expect("sender = \"h1\"\nreceiver = \"h2\"\nmessage_size_bytes = 1024");
        let cell = &found.unwrap().unwrap().cells[0];
        let named = |(factor, label): &(String, Label)| format!("{factor} {label}");
        assert_eq!(
            cell.levels.iter().map(named).collect::<Vec<_>>(),
            ["sender h1", "receiver h2", "message_size_bytes 1024"]
        );
        let why = expect("sender = \"h9\"").unwrap_err().to_string();
        assert!(
            why.contains("unknown level `h9` of factor `sender`"),
            "{why}"
        );
    }

    #[test]
    fn each_pair_and_level_is_a_cell_and_groups_cover_the_runs() {
        let study = Study::parse("mesh.toml", TEXT).unwrap_or_else(|error| panic!("{error}"));
        let plan = study.plan(3, Lengths::default());
        assert_eq!(
            (plan.cells.len(), plan.runs.len(), plan.blocks),
            (60, 60, 1)
        );
        assert_eq!(plan.cells[0].name(), "h1 · h2 · 1024");
        let mesh = study.mesh.as_ref().expect("a mesh");
        let groups = mesh.group_lengths(&plan);
        assert_eq!(groups.iter().sum::<usize>(), plan.runs.len());
        let mut at = 0;
        for length in groups {
            let runs = &plan.runs[at..at + length];
            let mut hosts: Vec<String> = runs
                .iter()
                .flat_map(|run| plan.cells[run.cell].levels[..2].iter())
                .map(|(_, host)| host.to_string())
                .collect();
            hosts.sort();
            hosts.dedup();
            assert_eq!(hosts.len(), 2 * length);
            at += length;
        }
        assert!(study.gives(&plan));
        let many = Mesh {
            hosts: (0..1000).map(|host| host.to_string()).collect(),
            ..mesh.clone()
        };
        assert!(
            many.check_runs(1, 1)
                .is_err_and(|why| why.0.contains("999000 runs"))
        );
    }
}
