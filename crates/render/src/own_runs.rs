//! The runs with a result that the formats of other programs can show: those that bitcost made.

use bitcost_analysis::cells::{RunRow, Status};
use bitcost_analysis::findings::Findings;

use crate::export::ExportError;

/// The rows of the runs with a result.
///
/// # Errors
/// Usage, if another program made the runs.
pub(crate) fn with_result<'a>(
    execution: &'a Findings,
    form: &str,
) -> Result<Vec<&'a RunRow>, ExportError> {
    let name = &execution.name;
    if execution.summary.is_imported {
        return Err(ExportError::Usage(format!(
            "--format {form} shows runs that bitcost made, and those of {name} were imported; take --format csv or json"
        )));
    }
    let has_result = |row: &&RunRow| matches!(row.status, Status::Used | Status::LeftOut);
    Ok(execution.summary.runs.iter().filter(has_result).collect())
}
