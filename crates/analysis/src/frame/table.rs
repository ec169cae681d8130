//! Named columns and rows of values, and the columns that every table of runs has.

use bitcost_model::imported::NOT_SAID;
use bitcost_model::study::Label;
use serde_json::{Value, json};

use crate::cells::RunRow;
use crate::findings::Findings;
use crate::summary::Summary;

/// Named columns, and rows that each have an entry for every one of them: text, a number (whole ones are integers), or
/// null where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

/// The columns that identify a run: execution, study, run, block, cell, and a column for each factor of all executions,
/// in the order of their first appearance.
pub(super) struct Head {
    /// Each factor with the name of its column.
    factors: Vec<(String, String)>,
}

const HEAD: [&str; 5] = ["execution", "study", "run", "block", "cell"];

impl Head {
    /// Those of these executions. A factor's column has its name, or that name with `factor_` in front if another
    /// column has it.
    pub fn of(executions: &[Findings], is_taken: impl Fn(&str) -> bool) -> Head {
        let mut names: Vec<&String> = Vec::new();
        let cells = executions.iter().flat_map(|of| &of.summary.cells);
        for (factor, _) in cells.flat_map(|cell| &cell.levels) {
            if !names.contains(&factor) {
                names.push(factor);
            }
        }
        let column = |name: &String| match HEAD.contains(&name.as_str()) || is_taken(name) {
            true => (name.clone(), format!("factor_{name}")),
            false => (name.clone(), name.clone()),
        };
        Head {
            factors: names.into_iter().map(column).collect(),
        }
    }

    pub fn columns(&self) -> impl Iterator<Item = String> {
        let factors = self.factors.iter().map(|(_, column)| column.clone());
        HEAD.into_iter().map(str::to_owned).chain(factors)
    }

    /// The values of a run; a level that another program's file does not give is absent.
    pub fn values(&self, execution: &Findings, run: &RunRow) -> Vec<Value> {
        let Summary {
            cells,
            is_imported,
            study,
            ..
        } = &execution.summary;
        let mut row = [&execution.name, &study.name]
            .map(|name| Value::from(&**name))
            .to_vec();
        row.extend([run.run + 1, run.block + 1].map(Value::from));
        row.push(Value::from(run.cell + 1));
        let levels = cells.get(run.cell).map_or(&[][..], |cell| &cell.levels);
        let value = |label: &Label| match label {
            Label::Text(words) if *is_imported && words == NOT_SAID => Value::Null,
            label => json!(label),
        };
        let level = |(factor, _): &(String, String)| {
            let level = levels.iter().find(|(name, _)| name == factor);
            level.map_or(Value::Null, |(_, label)| value(label))
        };
        row.extend(self.factors.iter().map(level));
        row
    }
}
