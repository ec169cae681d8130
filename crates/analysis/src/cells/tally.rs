//! Counting distinct sentences and methods over runs.

/// Distinct things in the order of their first appearance, with how often each was seen.
#[derive(Clone, Debug)]
pub struct Tally<T>(pub Vec<(T, usize)>);

impl<T> Default for Tally<T> {
    fn default() -> Self {
        Tally(Vec::new())
    }
}

impl<T: PartialEq> Tally<T> {
    /// Counts a thing once more.
    pub fn add(&mut self, thing: T) {
        match self.0.iter_mut().find(|(known, _)| *known == thing) {
            Some((_, count)) => *count += 1,
            None => self.0.push((thing, 1)),
        }
    }
}
