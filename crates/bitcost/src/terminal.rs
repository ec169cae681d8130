//! The terminal that standard output is connected to.

/// Fewest columns of a table: a narrower one has no room for a number.
const LEAST_COLUMNS: u16 = 40;

/// The width of the terminal; absent if standard output is not one.
pub fn columns() -> Option<u16> {
    let terminal = console::Term::stdout().size_checked();
    terminal.map(|(_, columns)| columns.max(LEAST_COLUMNS))
}
