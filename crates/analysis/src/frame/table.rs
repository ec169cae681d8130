//! Named columns and rows of values, and the columns that every table of runs has.

use bitcost_model::imported::NOT_SAID;
use bitcost_model::study::Label;

use crate::findings::Findings;
use crate::summary::Summary;

/// One entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not measured, or not known.
    Absent,
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// Words.
    Text(String),
}

impl From<Option<f64>> for Value {
    fn from(number: Option<f64>) -> Value {
        number
            .filter(|number| number.is_finite())
            .map_or(Value::Absent, Value::Number)
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Value {
        text.map_or(Value::Absent, |text| Value::Text(text.to_owned()))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value {
        Value::Whole(number.into())
    }
}

impl From<&Label> for Value {
    fn from(label: &Label) -> Value {
        match label {
            Label::Number(number) => Value::Whole(*number),
            Label::Text(text) => Value::Text(text.clone()),
        }
    }
}

/// Named columns, and rows that each have an entry for every one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns' names.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    /// A table without rows.
    pub fn new<T: Into<String>>(columns: impl IntoIterator<Item = T>) -> Table {
        Table {
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }
}

/// The factors of all executions, in the order of their first appearance, each with the name of its
/// column: the factor's name, or that name with `factor_` in front if another column has it.
pub(super) fn factors(
    executions: &[Findings],
    taken: &dyn Fn(&str) -> bool,
) -> Vec<(String, String)> {
    let mut names: Vec<String> = Vec::new();
    for cell in executions
        .iter()
        .flat_map(|execution| &execution.summary.cells)
    {
        for (factor, _) in &cell.levels {
            if !names.contains(factor) {
                names.push(factor.clone());
            }
        }
    }
    let column = |name: String| {
        let column = if taken(&name) {
            format!("factor_{name}")
        } else {
            name.clone()
        };
        (name, column)
    };
    names.into_iter().map(column).collect()
}

/// The levels of a cell in the order of the factors; a level that another program's file does not
/// give is absent.
pub(super) fn levels(
    execution: &Findings,
    cell: usize,
    factors: &[(String, String)],
) -> Vec<Value> {
    let Summary {
        cells, is_imported, ..
    } = &execution.summary;
    let levels = cells.get(cell).map_or(&[][..], |cell| &cell.levels);
    let value = |label: &Label| match label {
        Label::Text(words) if *is_imported && words == NOT_SAID => Value::Absent,
        label => Value::from(label),
    };
    let of = |(factor, _): &(String, String)| {
        levels
            .iter()
            .find(|(name, _)| name == factor)
            .map_or(Value::Absent, |(_, label)| value(label))
    };
    factors.iter().map(of).collect()
}
