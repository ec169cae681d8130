//! Why namespaces cannot be made on this host, and what to do about it.

use std::fs;
use std::io;

use crate::LabError;

const EPERM: i32 = 1;
const ENOSPC: i32 = 28;

/// The facts that the host reports about user namespaces; `None` if it does not report one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Facts {
    errno: Option<i32>,
    /// Whether the kernel has user namespaces at all (/proc/self/ns/user exists).
    has_user_namespaces: Option<bool>,
    max_user_namespaces: Option<u64>,
    /// /proc/sys/kernel/unprivileged_userns_clone (Debian).
    unprivileged_userns_clone: Option<u64>,
    /// /proc/sys/kernel/apparmor_restrict_unprivileged_userns (Ubuntu).
    apparmor_restrict_unprivileged_userns: Option<u64>,
    /// Whether the root directory is not the root of the mount namespace.
    in_chroot: Option<bool>,
    /// Whether a seccomp filter checks the system calls of this process, as in containers.
    has_seccomp_filter: Option<bool>,
}

impl Facts {
    /// Reads the facts of this host after the call failed with `error`.
    fn read(error: &io::Error) -> Self {
        let kernel = "/proc/sys/kernel";
        let status = fs::read_to_string("/proc/self/status").ok();
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok();
        Self {
            errno: error.raw_os_error(),
            has_user_namespaces: fs::exists("/proc/self/ns/user").ok(),
            max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            unprivileged_userns_clone: number(&format!("{kernel}/unprivileged_userns_clone")),
            apparmor_restrict_unprivileged_userns: number(&format!(
                "{kernel}/apparmor_restrict_unprivileged_userns"
            )),
            in_chroot: mounts.map(|text| !has_mount_at_root(&text)),
            has_seccomp_filter: status.map(|text| has_filter(&text)),
        }
    }
}

/// The likeliest reason why the call failed with `error`, with its remedy.
pub(crate) fn diagnose(error: &io::Error) -> LabError {
    Facts::read(error).likeliest()
}

const ALLOW: &str = "allow them: sudo sysctl -w";

impl Facts {
    fn likeliest(&self) -> LabError {
        let is_refused = self.errno == Some(EPERM);
        let is_restricted = self.apparmor_restrict_unprivileged_userns.unwrap_or(0) != 0;
        let rows = [
            (
                self.has_user_namespaces == Some(false),
                "this kernel has no user namespaces",
                "use a kernel with CONFIG_USER_NS".to_owned(),
            ),
            (
                self.max_user_namespaces == Some(0),
                "/proc/sys/user/max_user_namespaces is 0",
                format!("{ALLOW} user.max_user_namespaces=10000"),
            ),
            (
                self.unprivileged_userns_clone == Some(0),
                "/proc/sys/kernel/unprivileged_userns_clone is 0 (Debian)",
                format!("{ALLOW} kernel.unprivileged_userns_clone=1"),
            ),
            (
                is_restricted,
                "AppArmor restricts user namespaces (/proc/sys/kernel/apparmor_restrict_unprivileged_userns is 1, as on Ubuntu 24.04)",
                format!("{ALLOW} kernel.apparmor_restrict_unprivileged_userns=0"),
            ),
            (
                is_refused && self.in_chroot == Some(true),
                "this process runs in a chroot, where the kernel refuses user namespaces",
                "start bitcost outside of the chroot".to_owned(),
            ),
            (
                self.errno == Some(ENOSPC),
                "a limit is used up (/proc/sys/user/max_user_namespaces, max_net_namespaces, max_mnt_namespaces, or 32 levels of nesting)",
                "raise it with sysctl -w".to_owned(),
            ),
            (
                is_refused && self.has_seccomp_filter == Some(true),
                "a seccomp filter refuses them, as in a container",
                "give the container CAP_SYS_ADMIN and a seccomp profile that allows unshare (docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined)".to_owned(),
            ),
        ];
        let known = rows.into_iter().find(|(is_it, ..)| *is_it);
        let known = known.map(|(_, reason, remedy)| (reason.to_owned(), remedy));
        let (reason, remedy) = known.unwrap_or_else(|| {
            let error = self.errno.map(io::Error::from_raw_os_error);
            let error = error.map_or("no error number".to_owned(), |error| error.to_string());
            (
                format!("the kernel refuses them ({error}), and no known setting explains it"),
                "check with: unshare --user --net true".to_owned(),
            )
        });
        LabError::NoUserNamespaces {
            reason,
            remedy: format!("{remedy}, or run bitcost as root"),
        }
    }
}

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Whether something is mounted at "/" as this process sees it, which is false in a chroot.
fn has_mount_at_root(mountinfo: &str) -> bool {
    mountinfo
        .lines()
        .any(|line| line.split(' ').nth(4) == Some("/"))
}

fn has_filter(status: &str) -> bool {
    status
        .lines()
        .any(|line| line.split_whitespace().eq(["Seccomp:", "2"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eperm() -> Facts {
        Facts {
            errno: Some(EPERM),
            has_user_namespaces: Some(true),
            ..Facts::default()
        }
    }

    #[test]
    fn each_reason_has_its_remedy() {
        let rows = [
            (
                Facts {
                    has_user_namespaces: Some(false),
                    ..eperm()
                },
                "CONFIG_USER_NS",
            ),
            (
                Facts {
                    max_user_namespaces: Some(0),
                    ..eperm()
                },
                "user.max_user_namespaces=10000",
            ),
            (
                Facts {
                    has_seccomp_filter: Some(true),
                    ..eperm()
                },
                "docker run --cap-add SYS_ADMIN",
            ),
            (eperm(), "unshare --user --net true"),
        ];
        for (facts, remedy) in rows {
            let text = facts.likeliest().to_string();
            assert!(text.contains(remedy), "{facts:?}: {text}");
            assert!(text.ends_with("or run bitcost as root"), "{text}");
        }
    }

    #[test]
    fn chroot_and_filter_are_detected() {
        assert!(has_mount_at_root("22 1 254:0 / / rw - ext4 /dev/vda rw\n"));
        assert!(!has_mount_at_root("23 22 0:5 / /proc rw - proc proc rw\n"));
        assert!(has_filter("Name:\tx\nSeccomp:\t2\n"));
        assert!(!has_filter("Seccomp:\t0\nSeccomp_filters:\t2\n"));
    }
}
