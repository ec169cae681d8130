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

    /// The service of this host: `host` or `host:port`. Absent where this host is enrolled at none
    /// there.
    ///
    /// # Errors
    /// A sentence: several services are there, or a file cannot be read.
    pub fn find(&self, text: &str) -> Result<Option<Known>, Unavailable> {
        let (Ok(at), Ok(other)) = (HostPort::parse(text, PORT), HostPort::parse(text, 1)) else {
            return Ok(None);
        };
        // A port that is given does not depend on the default.
        if at.port == other.port {
            return Ok(self.all()?.into_iter().find(|known| known.at() == at));
        }
        let mut of_host: Vec<Known> = self.all()?;
        of_host.retain(|known| known.host == at.host);
        match &of_host[..] {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            several => {
                let places: Vec<String> =
                    several.iter().map(|known| known.at().to_string()).collect();
                Err(Unavailable(format!(
                    "this host is enrolled at several services of {text}: {}; name one of them",
                    places.join(", ")
                )))
            }
        }
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
        assert_eq!(client.find("web"), Ok(None));
        let keep = |text: &str| {
            let at = HostPort::parse(text, PORT).expect("a host");
            client
                .keep(&at, Fingerprint::of(text.as_bytes()))
                .expect("kept");
        };
        keep("web:7000");
        keep("[::1]:7000");
        let found = |text: &str| client.find(text).expect("read").map(|known| known.port);
        assert_eq!(found("web"), Some(7000));
        assert_eq!(found("web:7000"), Some(7000));
        assert_eq!(found("web:7001"), None);
        assert_eq!(found("::1"), Some(7000));
        assert_eq!(found("me@web"), None);
        keep("web:7001");
        assert!(client.find("web").expect_err("two").0.contains("web:7001"));
        assert_eq!(found("web:7001"), Some(7001));
    }
}
