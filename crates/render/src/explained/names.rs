//! Lists of cells' names, shortened.

/// The most names of a list that are all given.
const NAMES: usize = 6;

/// Names of cells; a long list is shortened to the first names, the last, and their number.
pub(super) fn names_in_line(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [first, second, third, .., last] if names.len() > NAMES => {
            let count = names.len();
            format!("{first}; {second}; {third}; … {last} ({count} cells)")
        }
        all => all.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::names_in_line;

    #[test]
    fn long_lists_are_cut_short() {
        assert_eq!(names_in_line(&["a", "b"]), "a; b");
        assert_eq!(
            names_in_line(&["1", "2", "3", "4", "5", "6", "7"]),
            "1; 2; 3; … 7 (7 cells)"
        );
    }
}
