//! `--format parquet`: refused where the program was built without the library.

use crate::export::{ExportError, Exported, Form, Input, RowSupport, Rows};

/// `--format parquet`.
pub(crate) const FORM: Form = Form {
    rows: RowSupport::Always,
    refusal,
    ..Form::new(
        "parquet",
        "A Parquet file of the same rows, for databases and data frames",
        export,
    )
};

fn refusal(is_terminal: bool) -> Option<String> {
    if !cfg!(feature = "parquet") {
        return Some(NOT_BUILT.to_owned());
    }
    is_terminal.then(|| {
        "--format parquet is binary and standard output is a terminal; redirect it into a file: > runs.parquet"
            .to_owned()
    })
}

fn export(input: &Input) -> Result<Exported, ExportError> {
    write(&input.rows.unwrap_or(Rows::Runs).table(input.executions))
}

const NOT_BUILT: &str = "--format parquet: this program was built without it; build it with \
    `cargo build --release --features parquet`, or take --format csv, which has the same rows";

#[cfg(feature = "parquet")]
fn write(table: &bitcost_analysis::frame::Table) -> Result<Exported, ExportError> {
    let bytes = crate::parquet_file::parquet(table)
        .map_err(|error| ExportError::Environment(error.to_string()))?;
    Ok(Exported {
        bytes,
        remarks: Vec::new(),
    })
}

#[cfg(not(feature = "parquet"))]
fn write(_: &bitcost_analysis::frame::Table) -> Result<Exported, ExportError> {
    Err(ExportError::Usage(NOT_BUILT.to_owned()))
}
