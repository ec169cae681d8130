//! An even choice of a few places among many.

/// At most `most` places below `count`, evenly chosen, the first and the last among them.
pub fn evenly(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |place| place * (count - 1) / (taken - 1).max(1))
}
