//! The key of this host, as a service or as a client: Ed25519 (RFC 8032), made when it is first
//! needed and kept in a file that only its user can read.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use bitcost_model::Unavailable;
use bitcost_sys::files::open_regular;
use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use crate::fingerprint::Fingerprint;

const FILE: &str = "key";

/// The longest key file, in bytes.
const FILE_BYTES_MAX: u64 = 4 << 10;

/// A key pair that is ready for TLS.
#[derive(Clone, Debug)]
pub struct OwnKey {
    pub(crate) certified: Arc<CertifiedKey>,
    /// Its public half (`SubjectPublicKeyInfo`, RFC 8410).
    pub(crate) public: Vec<u8>,
    /// The fingerprint of that.
    pub fingerprint: Fingerprint,
}

impl OwnKey {
    /// The key of this folder, which is made if there is none.
    ///
    /// # Errors
    /// A sentence with the file and the remedy.
    pub fn of_folder(folder: &Path) -> Result<OwnKey, Unavailable> {
        let path = folder.join(FILE);
        private_folder(folder)?;
        match open_regular(&path, OpenOptions::new().read(true)) {
            Ok(file) => {
                let facts = file.metadata().map_err(cannot("read the key", &path))?;
                let mode = facts.permissions().mode();
                if mode & 0o077 != 0 {
                    return Err(Unavailable(format!(
                        "other users may read or write the key {}: chmod 600 it, or remove it to have another made, which you must then distribute to all peers",
                        path.display()
                    )));
                }
                let mut bytes = Vec::new();
                file.take(FILE_BYTES_MAX)
                    .read_to_end(&mut bytes)
                    .map_err(cannot("read the key", &path))?;
                OwnKey::of_pkcs8(&bytes).map_err(|why| {
                    Unavailable(format!(
                        "{} is not a key that bitcost made: {why}; remove it to have another made",
                        path.display()
                    ))
                })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let bytes = generate()?;
                write_new(&path, &bytes).map_err(cannot("write the key", &path))?;
                OwnKey::of_pkcs8(&bytes).map_err(Unavailable)
            }
            Err(error) => Err(cannot("read the key", &path)(error)),
        }
    }

    fn of_pkcs8(bytes: &[u8]) -> Result<OwnKey, String> {
        let key = rustls::crypto::ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(bytes))
            .map_err(|error| error.to_string())?;
        let public = key.public_key().ok_or("it has no public half")?;
        let fingerprint = Fingerprint::of(&public);
        let public = public.to_vec();
        let chain = vec![CertificateDer::from(public.clone())];
        Ok(OwnKey {
            certified: Arc::new(CertifiedKey::new(chain, key)),
            public,
            fingerprint,
        })
    }
}

fn generate() -> Result<Vec<u8>, Unavailable> {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
        .map_err(|_| Unavailable("the kernel gives no random bytes for a key".to_owned()))?;
    Ok(document.as_ref().to_vec())
}

/// Writes a file that must not exist yet, readable by its user alone.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = open_regular(
        path,
        OpenOptions::new().write(true).create_new(true).mode(0o600),
    )?;
    file.write_all(bytes).and_then(|()| file.sync_all())
}

/// Makes a folder that only its user may enter, where there is none.
///
/// # Errors
/// A sentence with the folder.
pub(crate) fn private_folder(folder: &Path) -> Result<(), Unavailable> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(cannot("make the folder", folder))
}

/// The error of doing something with a file or folder.
pub(crate) fn cannot(what: &str, path: &Path) -> impl Fn(io::Error) -> Unavailable {
    let start = format!("cannot {what} {}", path.display());
    move |error| Unavailable(format!("{start}: {error}"))
}

/// Random bytes of the kernel.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Unavailable> {
    let bytes = ring::rand::generate::<[u8; N]>(&SystemRandom::new())
        .map_err(|_| Unavailable("the kernel gives no random bytes".to_owned()))?;
    Ok(bytes.expose())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_an_open_one_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        let first = OwnKey::of_folder(&path).expect("made");
        let second = OwnKey::of_folder(&path).expect("read");
        assert_eq!(first.fingerprint, second.fingerprint);
        let file = path.join(FILE);
        let mode = std::fs::metadata(&file)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("set");
        assert!(
            OwnKey::of_folder(&path)
                .expect_err("open")
                .0
                .contains("chmod 600")
        );
        std::fs::remove_file(&file).expect("removed");
        std::fs::write(&file, "no key").expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("set");
        assert!(
            OwnKey::of_folder(&path)
                .expect_err("no key")
                .0
                .contains("remove it")
        );
    }
}
