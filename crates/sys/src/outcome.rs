//! What a function of the C library returned, as a result.

use std::io;

/// What it returned, unless that is negative, by which it says that `errno` has the reason.
pub(crate) fn checked<T: PartialOrd + From<i8>>(returned: T) -> io::Result<T> {
    if returned < T::from(0) {
        return Err(io::Error::last_os_error());
    }
    Ok(returned)
}
