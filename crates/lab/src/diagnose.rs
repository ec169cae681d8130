//! Why namespaces cannot be made on this host, and what to do about it.

use std::fs;
use std::io;

use crate::LabError;

const EPERM: i32 = 1;
const ENOSPC: i32 = 28;

/// The facts that the host reports about user namespaces; `None` if it does not report one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The error number of the call that failed.
    pub errno: Option<i32>,
    /// Whether the kernel has user namespaces at all (/proc/self/ns/user exists).
    pub has_user_namespaces: Option<bool>,
    /// /proc/sys/user/max_user_namespaces.
    pub max_user_namespaces: Option<u64>,
    /// /proc/sys/kernel/unprivileged_userns_clone (Debian).
    pub unprivileged_userns_clone: Option<u64>,
    /// /proc/sys/kernel/apparmor_restrict_unprivileged_userns (Ubuntu).
    pub apparmor_restrict_unprivileged_userns: Option<u64>,
    /// Whether the root directory is not the root of the mount namespace.
    pub in_chroot: Option<bool>,
    /// Whether a seccomp filter checks the system calls of this process, as in containers.
    pub has_seccomp_filter: Option<bool>,
}

impl Facts {
    /// Reads the facts of this host after the call failed with `error`.
    pub fn read(error: &io::Error) -> Self {
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

/// The likeliest reason for these facts, with its remedy.
pub fn diagnose(facts: &Facts) -> LabError {
    let (reason, remedy) = reason_and_remedy(facts);
    LabError::NoUserNamespaces {
        reason,
        remedy: format!("{remedy}, or run bitcost as root"),
    }
}

fn reason_and_remedy(facts: &Facts) -> (String, String) {
    let said = |reason: &str, remedy: &str| (reason.to_owned(), remedy.to_owned());
    if facts.has_user_namespaces == Some(false) {
        return said(
            "this kernel has no user namespaces",
            "use a kernel with CONFIG_USER_NS",
        );
    }
    if facts.max_user_namespaces == Some(0) {
        return said(
            "/proc/sys/user/max_user_namespaces is 0",
            "allow them: sudo sysctl -w user.max_user_namespaces=10000",
        );
    }
    if facts.unprivileged_userns_clone == Some(0) {
        return said(
            "/proc/sys/kernel/unprivileged_userns_clone is 0 (Debian)",
            "allow them: sudo sysctl -w kernel.unprivileged_userns_clone=1",
        );
    }
    if facts
        .apparmor_restrict_unprivileged_userns
        .is_some_and(|value| value != 0)
    {
        return said(
            "AppArmor restricts user namespaces (/proc/sys/kernel/apparmor_restrict_unprivileged_userns is 1, \
             as on Ubuntu 24.04)",
            "allow them: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        );
    }
    if facts.errno == Some(EPERM) && facts.in_chroot == Some(true) {
        return said(
            "this process runs in a chroot, where the kernel refuses user namespaces",
            "start bitcost outside of the chroot",
        );
    }
    if facts.errno == Some(ENOSPC) {
        return said(
            "a limit is used up (/proc/sys/user/max_user_namespaces, max_net_namespaces, max_mnt_namespaces, \
             or 32 levels of nesting)",
            "raise it with sysctl -w",
        );
    }
    if facts.errno == Some(EPERM) && facts.has_seccomp_filter == Some(true) {
        return said(
            "a seccomp filter refuses them, as in a container",
            "give the container CAP_SYS_ADMIN and a seccomp profile that allows unshare \
             (docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined)",
        );
    }
    let error = facts.errno.map_or_else(
        || "no error number".to_owned(),
        |n| io::Error::from_raw_os_error(n).to_string(),
    );
    (
        format!("the kernel refuses them ({error}), and no known setting explains it"),
        "check with: unshare --user --net true".to_owned(),
    )
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

    fn said(facts: Facts) -> String {
        diagnose(&facts).to_string()
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
            let text = said(facts.clone());
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
