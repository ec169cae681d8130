//! Whole numbers as values of options.

use std::ops::RangeInclusive;

/// Reads a whole number within these bounds.
pub fn whole<N: TryFrom<u32>>(
    allowed: RangeInclusive<u32>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.trim().parse().ok();
        let number = number.filter(|number| allowed.contains(number));
        let possible = number.and_then(|number| N::try_from(number).ok());
        possible.ok_or_else(|| {
            let (least, most) = (allowed.start(), allowed.end());
            format!("`{text}` is not a valid value; allowed: a whole number from {least} to {most}")
        })
    }
}
