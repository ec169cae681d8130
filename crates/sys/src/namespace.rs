//! Namespaces: creating and entering them, and a private sysfs that shows their devices.

use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::CWD;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsmount, fsopen, mount_change, move_mount,
    open_tree, unmount,
};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

use crate::socket::{self, IntOption};

/// The kinds of namespace that the program creates and enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// User and group ids, and the capabilities that go with them.
    User,
    /// Network devices, addresses, sockets.
    Net,
    /// The mount table.
    Mount,
    /// Process ids. A process that creates or enters one stays outside: its children are in it.
    Pid,
    /// The host name.
    Uts,
}

impl Kind {
    fn row(self) -> (UnshareFlags, LinkNameSpaceType, &'static str) {
        match self {
            Kind::User => (UnshareFlags::NEWUSER, LinkNameSpaceType::User, "user"),
            Kind::Net => (UnshareFlags::NEWNET, LinkNameSpaceType::Network, "net"),
            Kind::Mount => (UnshareFlags::NEWNS, LinkNameSpaceType::Mount, "mnt"),
            Kind::Pid => (UnshareFlags::NEWPID, LinkNameSpaceType::ProcessID, "pid"),
            Kind::Uts => {
                let host_name = LinkNameSpaceType::HostNameAndNISDomainName;
                (UnshareFlags::NEWUTS, host_name, "uts")
            }
        }
    }

    /// The name of the namespace's link in `/proc/PID/ns`.
    pub fn link_name(self) -> &'static str {
        self.row().2
    }
}

/// Moves the calling thread into new namespaces of `kinds` (unshare(2)).
///
/// `Kind::User` needs a process with a single thread: with more, the error is `EINVAL`. `EPERM`
/// means that the caller may not create them (or, for `Kind::User`, that it runs in a chroot).
pub fn unshare(kinds: &[Kind]) -> io::Result<()> {
    let flags = kinds
        .iter()
        .fold(UnshareFlags::empty(), |all, kind| all | kind.row().0);
    // SAFETY: `Kind` has no value for the table of file descriptors (CLONE_FILES), the only flag
    // that makes this call unsafe.
    unsafe { unshare_unsafe(flags) }?;
    Ok(())
}

/// Moves the calling process into a new user namespace, in which its user and group are root (0).
///
/// The ids are those in effect before the call. Errors as for [`unshare`], and `EPERM` when the
/// maps may not be written.
pub fn unshare_user_as_root() -> io::Result<()> {
    let uid = rustix::process::geteuid().as_raw();
    let gid = rustix::process::getegid().as_raw();
    unshare(&[Kind::User])?;
    // Without "deny" an ordinary user may not write the group map (user_namespaces(7)).
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {gid} 1"))
}

/// Moves the calling thread into the namespace that `namespace` refers to (setns(2)).
///
/// # Errors
/// `EINVAL` when it is not of this `kind`, `EPERM` without the capabilities in it.
pub fn enter(namespace: BorrowedFd<'_>, kind: Kind) -> io::Result<()> {
    move_into_link_name_space(namespace, Some(kind.row().1))?;
    Ok(())
}

/// Calls `act` in the network namespace that `network` refers to: in a thread of its own, which alone enters it.
///
/// # Errors
/// Those of [`enter`].
pub fn inside<T: Send>(network: BorrowedFd<'_>, act: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let there = scope.spawn(|| enter(network, Kind::Net).map(|()| act()));
        there.join().unwrap_or(Err(io::ErrorKind::Other.into()))
    })
}

/// Opens the namespace of this `kind` in which the calling thread is.
pub fn current(kind: Kind) -> io::Result<OwnedFd> {
    let path = format!("/proc/thread-self/ns/{}", kind.link_name());
    Ok(fs::File::open(path)?.into())
}

/// The cookie of the caller's network namespace, unique until the next boot (`SO_NETNS_COOKIE`).
///
/// # Errors
/// `ENOPROTOOPT` before Linux 5.14.
pub fn network_cookie() -> io::Result<u64> {
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0))?;
    let mut cookie = 0u64;
    // SAFETY: `u64` has no invalid values.
    unsafe { socket::get(&socket, SO_NETNS_COOKIE, &mut cookie)? };
    Ok(cookie)
}

/// Of asm-generic/socket.h.
const SO_NETNS_COOKIE: IntOption = IntOption(libc::SOL_SOCKET, 71);

/// A sysfs that shows the network namespace in which it was mounted, attached to no directory.
///
/// `/sys` shows the devices of the namespace of its mount, not of the caller. This one is unmounted when dropped.
#[derive(Debug)]
pub struct PrivateSysfs {
    root: OwnedFd,
}

impl PrivateSysfs {
    /// Mounts a sysfs for the calling thread's network namespace (fsopen(2), Linux 5.2).
    ///
    /// Needs `CAP_SYS_ADMIN` over the mount namespace and over the network namespace; containers
    /// that hide part of their own `/sys` refuse it with `EPERM`.
    pub fn mount() -> io::Result<Self> {
        let context = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let root = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        Ok(Self { root })
    }

    /// As [`PrivateSysfs::mount`], in the separate mount namespace of a new thread, so that `CAP_SYS_ADMIN` over the caller's
    /// user namespace suffices.
    pub fn mount_in_own_table() -> io::Result<Self> {
        let mounted = std::thread::spawn(|| unshare(&[Kind::Mount]).and_then(|()| Self::mount()));
        mounted.join().unwrap_or(Err(io::ErrorKind::Other.into()))
    }

    /// The sysfs at `/sys`, which shows the network namespace in which it was mounted.
    pub fn of_machine() -> io::Result<Self> {
        Ok(Self {
            root: fs::File::open("/sys")?.into(),
        })
    }

    /// The names in the folder at `path`, relative to the root of sysfs, sorted.
    pub fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        let folder = self.open(
            path,
            rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY,
        )?;
        let entries = rustix::fs::Dir::new(folder)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names: Vec<String> = entries.collect::<io::Result<_>>()?;
        names.retain(|name| name != "." && name != "..");
        names.sort();
        Ok(names)
    }

    /// Reads the file at `path`, relative to the root of sysfs, without surrounding white space.
    pub fn read(&self, path: &Path) -> io::Result<String> {
        let file = self.open(path, rustix::fs::OFlags::RDONLY)?;
        Ok(io::read_to_string(file)?.trim().to_owned())
    }

    /// Writes `value` to the file at `path`, relative to the root of sysfs.
    ///
    /// Success means only that the kernel took the value: read it back.
    pub fn write(&self, path: &Path, value: &str) -> io::Result<()> {
        use std::io::Write as _;
        self.open(path, rustix::fs::OFlags::WRONLY)?
            .write_all(value.as_bytes())
    }

    /// As [`PrivateSysfs::write`], and reads the value back.
    ///
    /// # Errors
    /// Also when the file then reads otherwise.
    pub fn set(&self, path: &Path, value: &str) -> io::Result<()> {
        self.write(path, value)?;
        match self.read(path)? {
            now if now == value => Ok(()),
            now => Err(io::Error::other(format!("it reads {now}"))),
        }
    }

    fn open(&self, path: &Path, access: rustix::fs::OFlags) -> io::Result<fs::File> {
        let flags = access | rustix::fs::OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.root, path, flags, rustix::fs::Mode::empty())?;
        Ok(fd.into())
    }
}

/// Where control groups are, below the mount of sysfs.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Moves the calling process to a separate mount namespace, whose later mounts are visible to it and its children only.
///
/// # Errors
/// As for [`unshare`].
pub fn own_mounts() -> io::Result<()> {
    unshare(&[Kind::Mount])?;
    let flags = MountPropagationFlags::REC | MountPropagationFlags::DOWNSTREAM;
    Ok(mount_change("/", flags)?)
}

/// Makes `/sys` show the devices of the caller's network namespace, in its mount namespace, which [`own_mounts`] made.
///
/// Control groups stay where they were. Errors as for [`PrivateSysfs::mount`]; `/sys` is then as before.
pub fn show_own_devices() -> io::Result<()> {
    let sysfs = PrivateSysfs::mount()?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let groups = open_tree(CWD, CGROUPS, flags);
    attach(&sysfs.root, Path::new("/sys"))?;
    if let Ok(groups) = groups {
        // A host without control groups has none to move.
        let _ = attach(&groups, Path::new(CGROUPS));
    }
    Ok(())
}

fn attach(mount: &OwnedFd, at: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(move_mount(mount, "", CWD, at, flags)?)
}

/// Makes the existing file at `path` have this text in the caller's mount namespace, which [`own_mounts`] made. The file itself is
/// not changed: a file in memory is mounted over it.
///
/// # Errors
/// Those of the system calls: `ENOENT` where there is no such file, `EPERM` without `CAP_SYS_ADMIN` over the mount namespace.
pub fn cover_file(path: &Path, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let memory = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&memory)?;
    let memory = fsmount(
        &memory,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::empty(),
    )?;
    // Only a file of an attached mount can be mounted elsewhere, so it is attached for a moment.
    let folder = Path::new("/sys");
    attach(&memory, folder)?;
    let covered = file_in(folder, text).and_then(|file| attach(&file, &path));
    unmount(folder, UnmountFlags::DETACH)?;
    covered
}

/// A new file with this text in `folder`, as a mount that is attached to nothing yet.
fn file_in(folder: &Path, text: &str) -> io::Result<OwnedFd> {
    let file = folder.join("file");
    fs::write(&file, text)?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(open_tree(CWD, &file, flags)?)
}

/// Moves the calling process to a separate namespace of host names, where this is the name.
///
/// # Errors
/// As for [`unshare`]; `EINVAL` for a name of more than 64 bytes.
pub fn own_host_name(name: &str) -> io::Result<()> {
    unshare(&[Kind::Uts])?;
    Ok(rustix::system::sethostname(name.as_bytes())?)
}

/// Whether the calling process is in the namespace that `namespace`, a file such as `/proc/PID/ns/user`, refers to.
pub fn is_in(namespace: &Path, kind: Kind) -> io::Result<bool> {
    let own = fs::metadata(format!("/proc/thread-self/ns/{}", kind.link_name()))?;
    let other = fs::metadata(namespace)?;
    Ok((own.dev(), own.ino()) == (other.dev(), other.ino()))
}
