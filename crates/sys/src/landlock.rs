//! Landlock (kernel doc: userspace-api/landlock): a process takes from itself what its user may do with files and the network.

use std::io;

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr, RulesetError, Scope,
};

/// Denies the calling thread, and those that it starts, whatever this version of Landlock and the kernel's can deny: to open, make,
/// remove and run files, from version 4 to bind and connect TCP sockets, from version 6 to signal other processes and to connect to
/// their abstract Unix sockets. What is open stays so. Returns the version; absent: this kernel has no Landlock, or a filter
/// forbids it.
///
/// # Errors
/// `EPERM` without `no_new_privs`.
pub fn deny_all() -> io::Result<Option<u32>> {
    let denied = || -> Result<LandlockStatus, RulesetError> {
        let ruleset = Ruleset::default()
            .handle_access(AccessFs::from_all(ABI::V6))?
            .handle_access(AccessNet::from_all(ABI::V6))?
            .scope(Scope::from_all(ABI::V6))?
            .create()?;
        Ok(ruleset.restrict_self()?.landlock)
    };
    match denied().map_err(io::Error::other)? {
        LandlockStatus::Available { effective_abi, .. } => Ok(Some(effective_abi as u32)),
        _ => Ok(None),
    }
}
