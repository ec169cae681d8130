//! Stop rules, budgets and orders of the embedded study.

use std::collections::BTreeMap;

use bitcost_model::plan::Lengths;
use bitcost_study::Study;

const TEXT: &str = include_str!("../../../../studies/not-all-mbits.toml");

fn study() -> Study {
    Study::parse("studies/not-all-mbits.toml", TEXT).expect("the embedded study reads")
}

fn blocks(blocks: u32) -> Lengths {
    Lengths {
        blocks: Some(blocks),
        ..Lengths::default()
    }
}

#[test]
fn a_stop_rule_has_its_metric_its_width_and_its_most_blocks() {
    assert_eq!(study().until, None);
    let with = |lines: &str| TEXT.replacen("blocks = 5\n", &format!("blocks = 5\n{lines}\n"), 1);
    let read = |lines: &str| {
        Study::parse("mine.toml", &with(lines))
            .expect("it reads")
            .until
            .expect("a rule")
    };
    let rule = read("until_interval_pct = 2.5");
    assert_eq!(
        (rule.metric.as_str(), rule.width_pct, rule.max_blocks),
        ("throughput_mbps", 2.5, 30)
    );
    // The command line's rule is part of the study's text.
    let changed = study().until_interval(3.0).expect("a study");
    let again = Study::parse("mine.toml", &changed.text).expect("it reads");
    assert_eq!(again.until, changed.until);
    assert_eq!(again.until.expect("a rule").width_pct, 3.0);
    let lab = "hosts = [\"a\", \"b\"]\n[[link]]\nends = [\"a\", \"b\"]\n";
    let named = TEXT.replacen("topology = \"wire\"", "topology = \"lab.toml\"", 1);
    let of_file = Study::parse_with("mine.toml", &named, Some(lab)).expect("it reads");
    let changed = of_file.until_interval(3.0).expect("a study");
    assert_eq!(changed.until.expect("a rule").width_pct, 3.0);
    assert_eq!(
        (changed.lab, changed.lab_text.as_deref()),
        (of_file.lab, Some(lab))
    );
    let rule = read("until_interval_pct = 5\nuntil_metric = \"rtt_us\"\nmax_blocks = 7");
    assert_eq!(
        (rule.metric.as_str(), rule.width_pct, rule.max_blocks),
        ("rtt_us", 5.0, 7)
    );
}

#[test]
fn a_budget_chooses_blocks() {
    let study = study();
    let one = study.plan(1, blocks(1)).total_time();
    assert_eq!(study.blocks_within(Lengths::default(), one * 3), Ok(3));
    assert!(
        study
            .blocks_within(Lengths::default(), one / 2)
            .is_err_and(|e| e.0.contains("too short"))
    );
}

#[test]
fn what_is_over_a_limit_is_not_expanded() {
    // As the log of a hostile execution has it.
    let study = study();
    let plan = study.plan(1, blocks(u32::MAX));
    assert!(plan.runs.is_empty());
    assert!(!study.gives(&plan));
    let long = format!("{TEXT}#{}", "x".repeat(16 << 20));
    let error = Study::parse("mine.toml", &long).expect_err("too long");
    assert!(
        error.message.contains("bytes; allowed: at most 16777216"),
        "{error}"
    );
}

mod order {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn same_seed_same_order_and_every_prefix_of_blocks_is_balanced(seed: u64, blocks in 1u32..12) {
            let study = study();
            let lengths = super::blocks(blocks);
            let plan = study.plan(seed, lengths);
            prop_assert_eq!(&plan, &study.plan(seed, lengths));
            for block in 0..blocks {
                let runs = &plan.runs[..(block as usize + 1) * plan.cells.len()];
                for cell in 0..plan.cells.len() {
                    let count = runs.iter().filter(|run| run.cell == cell).count();
                    prop_assert_eq!(count, block as usize + 1);
                }
            }
        }

        #[test]
        fn a_longer_plan_begins_with_the_shorter(seed: u64, blocks in 1u32..8) {
            let study = study();
            let plan = |count| study.plan(seed, super::blocks(count));
            let (short, long) = (plan(blocks), plan(blocks + 3));
            prop_assert_eq!(&short.runs[..], &long.runs[..short.runs.len()]);
        }
    }

    #[test]
    fn both_sides_of_a_comparison_follow_each_other_in_turn() {
        let setting = bitcost_model::settings::find("congestion_control").expect("a setting");
        let study = study().against("cubic", &[(setting, "cubic".to_owned())]);
        let study = study.expect("a variant");
        let plan = study.plan(7, Lengths::default());
        let rest = |cell: usize| {
            let levels = plan.cells[cell].levels.iter();
            let others = levels.filter(|(factor, _)| factor != "options");
            others.map(|level| format!("{level:?}")).collect::<String>()
        };
        let mut first = BTreeMap::new();
        for pair in plan.runs.chunks(2) {
            let [was, is] = pair else {
                panic!("a pair: {pair:?}")
            };
            assert_eq!((was.block, rest(was.cell)), (is.block, rest(is.cell)));
            assert_ne!(was.cell, is.cell);
            let before = first.insert(rest(was.cell), was.cell);
            assert_ne!(before, Some(was.cell), "the same side first in two blocks");
        }
    }

    #[test]
    fn the_order_of_a_seed_is_fixed_for_good() {
        let plan = study().plan(7, blocks(1));
        let order: Vec<usize> = plan.runs.iter().map(|run| run.cell).collect();
        assert_eq!(order, [2, 6, 5, 1, 4, 0, 7, 3]);
    }
}
