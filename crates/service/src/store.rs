//! What a service keeps: the keys that it serves, and the links that are not yet spent. One file
//! each, so that `bitcost serve keys` and a running service need no lock.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt, lchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bitcost_model::Unavailable;
use bitcost_sys::files::{open_regular, replace};
use bitcost_sys::process::effective_uid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::address::{HostPort, PORT};
use crate::fingerprint::Fingerprint;
use crate::link::LinkToken;
use crate::message::clean_name;
use crate::own_key::{cannot, private_folder, random};
use crate::rules::{Refused, Rule, Rules};

/// How long a link can be used.
pub const LINK_LIFE: Duration = Duration::from_secs(24 * 3600);

/// Most keys that are served. All are read when a service starts.
const KEYS_MAX: usize = 4096;

/// Most links that can be used at the same time.
const LINKS_MAX: usize = 1024;

/// The longest of these files, in bytes.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// A client that is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enrolled {
    /// The name by which it is listed.
    pub name: String,
    /// When it was enrolled, in seconds since 1970.
    pub enrolled_s: u64,
    /// What it may do.
    #[serde(default)]
    pub rules: Rules,
}

/// A link that is not yet spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invitation {
    /// The name that the key will have; absent: the one that the client says.
    pub name: Option<String>,
    /// When it ends, in seconds since 1970.
    pub until_s: u64,
    /// What the key may do.
    #[serde(default)]
    pub rules: Rules,
}

/// When and from where a key was last used.
#[derive(Debug, Serialize, Deserialize)]
struct Seen {
    at_s: u64,
    from: Option<IpAddr>,
}

/// The folder of a service.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in this folder, which is made if there is none.
    ///
    /// # Errors
    /// A sentence with the folder.
    pub fn open(folder: &Path) -> Result<Store, Unavailable> {
        private_folder(folder)?;
        for part in ["keys", "links", "seen"] {
            let part = folder.join(part);
            private_folder(&part)?;
            let facts = fs::symlink_metadata(&part);
            if !facts.is_ok_and(|facts| facts.is_dir()) {
                let why = format!("{} is not a folder", part.display());
                return Err(Unavailable(why));
            }
            hand_over(&part);
        }
        Ok(Store {
            folder: folder.to_owned(),
        })
    }

    /// The key with this fingerprint; absent where it is not served, or its file cannot be read.
    pub fn key(&self, key: Fingerprint) -> Option<Enrolled> {
        read(&self.key_file(key)).ok()
    }

    /// Whether the key is still served.
    pub fn has(&self, key: Fingerprint) -> bool {
        self.key_file(key).is_file()
    }

    /// All keys, by name; files that cannot be read are an error, since a rule in them may be
    /// misspelt.
    ///
    /// # Errors
    /// A sentence with the file.
    pub fn keys(&self) -> Result<Vec<(Fingerprint, Enrolled)>, Unavailable> {
        let mut keys: Vec<(Fingerprint, Enrolled)> = list(&self.folder.join("keys"))?;
        keys.sort_by(|a, b| a.1.name.cmp(&b.1.name).then(a.0.cmp(&b.0)));
        Ok(keys)
    }

    /// The links that can still be used.
    ///
    /// # Errors
    /// A sentence with the file.
    pub fn invitations(&self) -> Result<Vec<Invitation>, Unavailable> {
        let mut valid = Vec::new();
        for (token, invitation) in list::<Invitation>(&self.folder.join("links"))? {
            match now_s() < invitation.until_s {
                true => valid.push(invitation),
                false => drop(fs::remove_file(self.link_file(token))),
            }
        }
        Ok(valid)
    }

    /// Makes a link.
    ///
    /// # Errors
    /// A sentence: there are too many, or the file.
    pub fn invite(&self, name: Option<&str>, rules: Rules) -> Result<LinkToken, Unavailable> {
        if self.invitations()?.len() >= LINKS_MAX {
            return Err(Unavailable(format!(
                "at most {LINKS_MAX} links can be used at the same time, and that many exist; each ends {} h after it was made",
                LINK_LIFE.as_secs() / 3600
            )));
        }
        let token = LinkToken(random()?);
        let invitation = Invitation {
            name: name.map(clean_name),
            until_s: now_s() + LINK_LIFE.as_secs(),
            rules,
        };
        write(&self.link_file(Fingerprint::of(&token.0)), &invitation)?;
        Ok(token)
    }

    /// Removes all links that are not spent.
    ///
    /// # Errors
    /// A sentence with the folder.
    pub fn withdraw_links(&self) -> Result<(), Unavailable> {
        for (token, _) in list::<Invitation>(&self.folder.join("links"))? {
            let _ = fs::remove_file(self.link_file(token));
        }
        Ok(())
    }

    /// Keeps the host and port that links name.
    ///
    /// # Errors
    /// A sentence with the file.
    pub fn keep_place(&self, at: &HostPort) -> Result<(), Unavailable> {
        write(&self.folder.join("place.json"), &at.to_string())
    }

    /// The host and port that links name; absent where the service has never been started.
    pub fn place(&self) -> Option<HostPort> {
        let text: String = read(&self.folder.join("place.json")).ok()?;
        HostPort::parse(&text, PORT).ok()
    }

    /// Spends a link's token: from now on the key is served. Of two clients with the same token one
    /// is enrolled.
    ///
    /// # Errors
    /// The rule that forbids it.
    pub fn enrol(
        &self,
        token: LinkToken,
        key: Fingerprint,
        name: &str,
    ) -> Result<Enrolled, Refused> {
        let file = self.link_file(Fingerprint::of(&token.0));
        let spent = || {
            Rule::Link.refuses(
                "the link was used or withdrawn, or is unknown; ask for another (bitcost serve keys add)",
            )
        };
        let invitation: Invitation = read(&file).map_err(|_| spent())?;
        let keys = fs::read_dir(self.folder.join("keys")).map_or(0, Iterator::count);
        if keys >= KEYS_MAX && !self.has(key) {
            return Err(Rule::Keys.refuses(format!(
                "keys: at most {KEYS_MAX} are served, and that many are enrolled; the link stays valid until one is revoked (bitcost serve keys revoke)"
            )));
        }
        // Only one of several clients removes the file.
        fs::remove_file(&file).map_err(|_| spent())?;
        if now_s() >= invitation.until_s {
            return Err(Rule::Link.refuses(format!(
                "a link can be used for {} h, and this one is older; ask for another (bitcost serve keys add)",
                LINK_LIFE.as_secs() / 3600
            )));
        }
        let enrolled = Enrolled {
            name: invitation.name.unwrap_or_else(|| clean_name(name)),
            enrolled_s: now_s(),
            rules: invitation.rules,
        };
        write(&self.key_file(key), &enrolled).map_err(|why| Rule::Other.refuses(why))?;
        Ok(enrolled)
    }

    /// Serves a key no longer.
    ///
    /// # Errors
    /// A sentence with the file.
    pub fn revoke(&self, key: Fingerprint) -> Result<(), Unavailable> {
        let file = self.key_file(key);
        fs::remove_file(&file).map_err(cannot("remove", &file))?;
        let _ = fs::remove_file(self.seen_file(key));
        Ok(())
    }

    /// Notes that a key was used now, from this address.
    pub fn note_seen(&self, key: Fingerprint, from: IpAddr) {
        let seen = Seen {
            at_s: now_s(),
            from: Some(from.to_canonical()),
        };
        // A full disk does not end a test.
        let _ = serde_json::to_vec(&seen).map(|text| replace(&self.seen_file(key), &text));
    }

    /// When a key was last used, in seconds since 1970.
    pub fn seen_s(&self, key: Fingerprint) -> Option<u64> {
        self.seen(key).map(|seen| seen.at_s)
    }

    /// The address from which each key was last used.
    pub fn seen_from(&self) -> Vec<(Fingerprint, IpAddr)> {
        let keys = self.keys().unwrap_or_default().into_iter();
        keys.filter_map(|(key, _)| Some((key, self.seen(key)?.from?)))
            .collect()
    }

    /// The file of an earlier version has the time alone.
    fn seen(&self, key: Fingerprint) -> Option<Seen> {
        let file = self.seen_file(key);
        let time_alone = |at_s| Seen { at_s, from: None };
        read(&file).or_else(|_| read(&file).map(time_alone)).ok()
    }

    fn key_file(&self, key: Fingerprint) -> PathBuf {
        self.folder.join("keys").join(format!("{key}.json"))
    }

    fn link_file(&self, token: Fingerprint) -> PathBuf {
        self.folder.join("links").join(format!("{token}.json"))
    }

    fn seen_file(&self, key: Fingerprint) -> PathBuf {
        self.folder.join("seen").join(key.to_string())
    }
}

/// Seconds since 1970.
pub(crate) fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

/// Reads one of these files.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    let file = open_regular(path, OpenOptions::new().read(true))?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    serde_json::from_slice(&bytes).map_err(io::Error::from)
}

/// Writes one of these files.
pub(crate) fn write(path: &Path, content: &impl Serialize) -> Result<(), Unavailable> {
    let failed = cannot("write", path);
    let mut text = serde_json::to_vec_pretty(content).map_err(|error| failed(error.into()))?;
    text.push(b'\n');
    replace(path, &text).map_err(failed)?;
    hand_over(path);
    Ok(())
}

/// Gives what root made to the user of the folder it is in, who runs the service.
fn hand_over(path: &Path) {
    let folder = path
        .parent()
        .and_then(|folder| fs::symlink_metadata(folder).ok());
    if let Some(folder) = folder.filter(|folder| effective_uid() == 0 && folder.uid() != 0) {
        // Where that is not possible, the service says that it cannot read the file.
        let _ = lchown(path, Some(folder.uid()), Some(folder.gid()));
    }
}

/// The files of a folder that are named by a fingerprint.
fn list<T: DeserializeOwned>(folder: &Path) -> Result<Vec<(Fingerprint, T)>, Unavailable> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(cannot("read", folder))? {
        let path = entry.map_err(cannot("read", folder))?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let Some(Ok(name)) = stem.map(str::parse::<Fingerprint>) else {
            continue;
        };
        match read(&path) {
            Ok(content) => found.push((name, content)),
            // It was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(cannot("read", &path)(error)),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_spent_once_and_a_key_is_revoked() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).expect("a store");
        let token = store.invite(None, Rules::default()).expect("a link");
        let (key, other) = (Fingerprint::of(b"key"), Fingerprint::of(b"other"));
        assert_eq!(store.invitations().expect("read").len(), 1);
        assert_eq!(store.key(key), None);
        store.enrol(token, key, "web\n1").expect("enrolled");
        let spent = store.enrol(token, other, "b").expect_err("spent");
        assert_eq!(spent.rule, Rule::Link);
        assert_eq!(store.key(key).expect("served").name, "web1");
        assert!(store.seen_s(key).is_none());
        let from = IpAddr::from([192, 0, 2, 1]);
        store.note_seen(key, from);
        assert!(store.seen_s(key).is_some());
        assert_eq!(store.seen_from(), [(key, from)]);
        fs::write(store.seen_file(key), "1764040000").expect("written");
        assert_eq!(store.seen_s(key), Some(1_764_040_000));
        assert_eq!(store.keys().expect("read").len(), 1);
        store.revoke(key).expect("revoked");
        assert!(!store.has(key) && store.keys().expect("read").is_empty());
    }

    #[test]
    fn keys_and_links_are_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).expect("a store");
        let token = store.invite(None, Rules::default()).expect("a link");
        let key = |number: usize| Fingerprint::of(&number.to_be_bytes());
        for number in 0..KEYS_MAX {
            fs::write(store.key_file(key(number)), "{}").expect("written");
        }
        let refused = store.enrol(token, key(KEYS_MAX), "a");
        let why = refused.expect_err("full");
        assert_eq!(why.rule, Rule::Keys);
        store.revoke(key(0)).expect("revoked");
        store.enrol(token, key(KEYS_MAX), "a").expect("room");
        let link = Invitation {
            name: None,
            until_s: u64::MAX,
            rules: Rules::default(),
        };
        let text = serde_json::to_vec(&link).expect("a text");
        for number in 0..LINKS_MAX {
            fs::write(store.link_file(key(number)), &text).expect("written");
        }
        let why = store.invite(None, Rules::default()).expect_err("full");
        assert!(why.0.contains("at most 1024 links"), "{why}");
    }

    #[test]
    fn a_misspelt_rule_serves_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).expect("a store");
        let key = Fingerprint::of(b"key");
        fs::write(
            store.key_file(key),
            r#"{"name":"a","enrolled_s":1,"rules":{"max_flow":1}}"#,
        )
        .expect("written");
        assert_eq!(store.key(key), None);
        assert!(store.keys().expect_err("misspelt").0.contains("max_flow"));
    }
}
