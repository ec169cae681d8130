//! What a client keeps: its own key, and the services that it is enrolled at with their keys.

use std::fs;
use std::path::{Path, PathBuf};

use bitcost_model::Unavailable;
use serde::{Deserialize, Serialize};

use crate::address::{HostPort, PORT};
use crate::fingerprint::Fingerprint;
use crate::own_key::{OwnKey, cannot, private_folder};
use crate::store::{now_s, read, write};

/// A service at which this host is enrolled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The host as the link named it.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its key.
    pub service: Fingerprint,
    /// When this host was enrolled there, in seconds since 1970.
    pub enrolled_s: u64,
}

impl Known {
    /// Its host and port.
    pub fn at(&self) -> HostPort {
        HostPort {
            host: self.host.clone(),
            port: self.port,
        }
    }
}

/// The folder of a client.
#[derive(Clone, Debug)]
pub struct Client {
    folder: PathBuf,
}

impl Client {
    /// The client of this folder, which is made when something is kept.
    pub fn of(folder: &Path) -> Client {
        Client {
            folder: folder.to_owned(),
        }
    }

    /// Its key, which is made if there is none.
    ///
    /// # Errors
    /// A sentence with the file.
    pub fn own_key(&self) -> Result<OwnKey, Unavailable> {
        OwnKey::of_folder(&self.folder)
    }

    /// The services of this host, `host` or `host:port`, at which this host is enrolled.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn find(&self, text: &str) -> Result<Vec<Known>, Unavailable> {
        let (Ok(at), Ok(other)) = (HostPort::parse(text, PORT), HostPort::parse(text, 1)) else {
            return Ok(Vec::new());
        };
        // A port that is given does not depend on the default.
        let has_port = at.port == other.port;
        let mut found = self.all()?;
        found.retain(|known| match has_port {
            true => known.at() == at,
            false => known.host == at.host,
        });
        Ok(found)
    }

    /// All services at which this host is enrolled.
    fn all(&self) -> Result<Vec<Known>, Unavailable> {
        let folder = self.folder.join("services");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(cannot("read", &folder)(error)),
        };
        let mut known = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                known.push(read(&path).map_err(cannot("read", &path))?);
            }
        }
        Ok(known)
    }

    /// Keeps a service with its key.
    ///
    /// # Errors
    /// A sentence with the file.
    pub fn keep(&self, at: &HostPort, service: Fingerprint) -> Result<(), Unavailable> {
        let folder = self.folder.join("services");
        private_folder(&folder)?;
        let known = Known {
            host: at.host.clone(),
            port: at.port,
            service,
            enrolled_s: now_s(),
        };
        write(&folder.join(format!("{at}.json")), &known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_found_by_host_and_by_port() {
        let folder = tempfile::tempdir().expect("a folder");
        let client = Client::of(&folder.path().join("client"));
        assert_eq!(client.find("web"), Ok(vec![]));
        let keep = |text: &str| {
            let at = HostPort::parse(text, PORT).expect("a host");
            client
                .keep(&at, Fingerprint::of(text.as_bytes()))
                .expect("kept");
        };
        keep("web:7000");
        keep("[::1]:7000");
        let found = |text: &str| {
            let found = client.find(text).expect("read");
            let mut ports: Vec<u16> = found.iter().map(|known| known.port).collect();
            ports.sort_unstable();
            ports
        };
        assert_eq!(found("web"), [7000]);
        assert_eq!(found("web:7000"), [7000]);
        assert!(found("web:7001").is_empty());
        assert_eq!(found("::1"), [7000]);
        assert!(found("me@web").is_empty());
        keep("web:7001");
        assert_eq!(found("web"), [7000, 7001]);
        assert_eq!(found("web:7001"), [7001]);
    }
}
