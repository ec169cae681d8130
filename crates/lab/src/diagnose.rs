//! Why namespaces cannot be made on this host, and what to do about it.

use std::fs;
use std::io;

use crate::LabError;

const EPERM: i32 = 1;
const ENOSPC: i32 = 28;

const ALLOW: &str = "allow them: sudo sysctl -w";

/// The likeliest reason why the call failed with `error`, with its remedy.
pub(crate) fn diagnose(error: &io::Error) -> LabError {
    likeliest(error, |path| fs::read_to_string(path).ok())
}

/// As [`diagnose`], of a host whose files have these texts.
fn likeliest(error: &io::Error, read: impl Fn(&str) -> Option<String>) -> LabError {
    let is = |path: &str, value: &str| read(path).is_some_and(|text| text.trim() == value);
    let is_refused = error.raw_os_error() == Some(EPERM);
    let mounts = read("/proc/self/mountinfo");
    let rows = [
        (
            read("/proc/self/uid_map").is_none(),
            "this kernel has no user namespaces",
            "use a kernel with CONFIG_USER_NS".to_owned(),
        ),
        (
            is("/proc/sys/user/max_user_namespaces", "0"),
            "/proc/sys/user/max_user_namespaces is 0",
            format!("{ALLOW} user.max_user_namespaces=10000"),
        ),
        (
            is("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            "/proc/sys/kernel/unprivileged_userns_clone is 0 (Debian)",
            format!("{ALLOW} kernel.unprivileged_userns_clone=1"),
        ),
        (
            is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            "AppArmor restricts user namespaces (/proc/sys/kernel/apparmor_restrict_unprivileged_userns is 1, as on Ubuntu 24.04)",
            format!("{ALLOW} kernel.apparmor_restrict_unprivileged_userns=0"),
        ),
        (
            is_refused && mounts.is_some_and(|mounts| !has_mount_at_root(&mounts)),
            "this process runs in a chroot, where the kernel refuses user namespaces",
            "start bitcost outside of the chroot".to_owned(),
        ),
        (
            error.raw_os_error() == Some(ENOSPC),
            "a limit is used up (/proc/sys/user/max_user_namespaces, max_net_namespaces, max_mnt_namespaces, or 32 levels of nesting)",
            "raise it with sysctl -w".to_owned(),
        ),
        (
            is_refused && read("/proc/self/status").is_some_and(|text| has_filter(&text)),
            "a seccomp filter refuses them, as in a container",
            "give the container CAP_SYS_ADMIN and a seccomp profile that allows unshare (docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined)".to_owned(),
        ),
    ];
    let known = rows.into_iter().find(|(is_it, ..)| *is_it);
    let known = known.map(|(_, reason, remedy)| (reason.to_owned(), remedy));
    let (reason, remedy) = known.unwrap_or_else(|| {
        (
            format!("the kernel refuses them ({error}), and no known setting explains it"),
            "check with: unshare --user --net true".to_owned(),
        )
    });
    LabError(format!(
        "cannot make the lab's namespaces: {reason}; {remedy}, or run bitcost as root"
    ))
}

/// Whether something is mounted at "/" as this process sees it, which is false in a chroot.
fn has_mount_at_root(mountinfo: &str) -> bool {
    mountinfo
        .lines()
        .any(|line| line.split(' ').nth(4) == Some("/"))
}

/// Whether a seccomp filter checks the system calls of this process, as in containers.
fn has_filter(status: &str) -> bool {
    status
        .lines()
        .any(|line| line.split_whitespace().eq(["Seccomp:", "2"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_remedy() {
        let usual = [
            ("/proc/self/uid_map", "0 0 4294967295\n"),
            (
                "/proc/self/mountinfo",
                "22 1 254:0 / / rw - ext4 /dev/vda rw\n",
            ),
        ];
        let rows: [(&[(&str, &str)], &str); 6] = [
            (&[], "CONFIG_USER_NS"),
            (
                &[("/proc/sys/user/max_user_namespaces", "0\n"), usual[0]],
                "user.max_user_namespaces=10000",
            ),
            (
                &[
                    usual[0],
                    (
                        "/proc/self/mountinfo",
                        "23 22 0:5 / /proc rw - proc proc rw\n",
                    ),
                ],
                "outside of the chroot",
            ),
            (
                &[
                    usual[0],
                    usual[1],
                    ("/proc/self/status", "Name:\tx\nSeccomp:\t2\n"),
                ],
                "docker run --cap-add SYS_ADMIN",
            ),
            (
                &[
                    usual[0],
                    ("/proc/self/status", "Seccomp:\t0\nSeccomp_filters:\t2\n"),
                ],
                "unshare --user --net true",
            ),
            (&usual, "unshare --user --net true"),
        ];
        for (files, remedy) in rows {
            let read = |path: &str| {
                let mut files = files.iter();
                files
                    .find(|(known, _)| *known == path)
                    .map(|(_, text)| (*text).to_owned())
            };
            let text = likeliest(&io::Error::from_raw_os_error(EPERM), read).to_string();
            assert!(text.contains(remedy), "{files:?}: {text}");
            assert!(text.ends_with("or run bitcost as root"), "{text}");
        }
    }
}
