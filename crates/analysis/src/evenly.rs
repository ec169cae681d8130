//! An even choice of a few places among many.

/// At most `most` places below `count`, evenly chosen, the first and the last among them.
pub fn evenly(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |place| {
        if taken < 2 {
            0
        } else {
            place * (count - 1) / (taken - 1)
        }
    })
}
