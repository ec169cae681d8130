//! The key of a service: Ed25519 (RFC 8032), made at the first start and kept in a file that only its user can read. The secret of
//! the link is derived from it, so that one file is all that a service keeps.

use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use bitcost_model::Unavailable;
use bitcost_sys::files::{open_regular, replace};
use bitcost_sys::process::effective_uid;
use ring::error::KeyRejected;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustls::pki_types::alg_id;
use rustls::sign::public_key_to_spki;

use crate::link::{Fingerprint, LinkToken};

const FILE: &str = "key";

const FILE_BYTES_MAX: u64 = 4 << 10;

/// What the secret of the link is derived from, together with the key.
const TOKEN_OF: &[u8] = b"bitcost link";

pub struct OwnKey {
    pub(crate) pair: Ed25519KeyPair,
    /// Its public half (`SubjectPublicKeyInfo`, RFC 8410).
    pub(crate) public: Vec<u8>,
    pub fingerprint: Fingerprint,
    pub token: LinkToken,
}

impl OwnKey {
    /// The key of this folder, which is made if there is none; `new`: it replaces the one that is there, whose link then ends.
    ///
    /// Everything in the folder is done through one descriptor of it, and a folder that others may write to is refused, so that no
    /// other user chooses which files are read and written.
    pub fn of_folder(folder: &Path, new: bool) -> Result<OwnKey, Unavailable> {
        let path = folder.join(FILE);
        let failed = |what: &str, error: io::Error| {
            Unavailable(format!("cannot {what} {}: {error}", path.display()))
        };
        let folder = open_folder(folder)?;
        // The file in that folder, whatever its path leads to now (proc_pid_fd(5)).
        let file = format!("/proc/self/fd/{}/{FILE}", folder.as_raw_fd());
        let present = match new {
            true => None,
            false => read(file.as_ref()).map_err(|error| failed("read the key", error))?,
        };
        let bytes = match present {
            Some(bytes) => bytes,
            None => {
                let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
                let made = made.map_err(|_| {
                    Unavailable("the kernel gives no random bytes for a key".to_owned())
                })?;
                replace(file.as_ref(), made.as_ref(), 0o600)
                    .map_err(|error| failed("write the key", error))?;
                made.as_ref().to_vec()
            }
        };
        OwnKey::of_pkcs8(&bytes).map_err(|why| {
            Unavailable(format!(
                "{} is not a key that bitcost made: {why}; --new-link makes another",
                path.display()
            ))
        })
    }

    fn of_pkcs8(bytes: &[u8]) -> Result<OwnKey, KeyRejected> {
        let pair = Ed25519KeyPair::from_pkcs8(bytes)?;
        let public = public_key_to_spki(&alg_id::ED25519, pair.public_key()).to_vec();
        let derived = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, bytes), TOKEN_OF);
        let mut token = [0; 16];
        token.copy_from_slice(&derived.as_ref()[..16]);
        Ok(OwnKey {
            fingerprint: Fingerprint::of(&public),
            token: LinkToken(token),
            public,
            pair,
        })
    }
}

/// Opens the folder, which is made if there is none, and in which only its user may make files.
fn open_folder(path: &Path) -> Result<OwnedFd, Unavailable> {
    let failed = |error: io::Error| {
        Unavailable(format!("cannot use the folder {}: {error}", path.display()))
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(CWD, path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
    let facts = File::from(folder.try_clone().map_err(failed)?);
    let facts = facts.metadata().map_err(failed)?;
    if facts.uid() != effective_uid() || facts.mode() & 0o022 != 0 {
        return Err(Unavailable(format!(
            "the folder {} is another user's, or others may write to it: name one of your own with --state, or chmod 700 it",
            path.display()
        )));
    }
    Ok(folder)
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match open_regular(path, File::options().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let facts = file.metadata()?;
    if facts.uid() != effective_uid() || facts.mode() & 0o077 != 0 {
        return Err(io::Error::other(
            "other users may read or write it; --new-link makes another",
        ));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_key_is_made_once_and_replaced_when_that_is_requested() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("service");
        let made = |new| OwnKey::of_folder(&folder, new).expect("a key");
        let first = made(false);
        let again = made(false);
        assert_eq!(
            (again.fingerprint, again.token),
            (first.fingerprint, first.token)
        );
        let other = made(true);
        assert_ne!(other.fingerprint, first.fingerprint);
        assert_ne!(other.token, first.token);
        let mode = |path: &Path| path.metadata().expect("facts").mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join(FILE))), (0o700, 0o600));
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
    }

    #[test]
    fn files_of_other_users_are_neither_read_nor_written() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("service");
        let of = |new| OwnKey::of_folder(&folder, new).map(|key| key.fingerprint);
        let first = of(false).expect("a key");
        let key = folder.join(FILE);
        fs::set_permissions(&key, Permissions::from_mode(0o640)).expect("changed");
        assert!(of(false).is_err());
        assert_ne!(of(true).expect("a key"), first);
        // A link that stands for the key is not followed.
        fs::remove_file(&key).expect("removed");
        let other = parent.path().join("other");
        fs::write(&other, "mine").expect("written");
        symlink(&other, &key).expect("a link");
        assert!(of(false).is_err() && of(true).is_err());
        assert_eq!(fs::read_to_string(&other).expect("read"), "mine");
        fs::set_permissions(&folder, Permissions::from_mode(0o770)).expect("changed");
        assert!(of(false).is_err());
        let linked = parent.path().join("linked");
        symlink(&folder, &linked).expect("a link");
        assert!(OwnKey::of_folder(&linked, false).is_err());
    }
}
