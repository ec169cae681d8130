//! A file in memory whose text is written whole, again and again, while other processes read it as `/proc/PID/fd/NUMBER`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};

#[derive(Debug)]
pub(crate) struct MemoryFile {
    file: File,
    writings: u64,
}

impl MemoryFile {
    pub(crate) fn new(name: &str) -> io::Result<MemoryFile> {
        let file = memfd_create(name, MemfdFlags::CLOEXEC)?.into();
        Ok(MemoryFile { file, writings: 0 })
    }

    pub(crate) fn fd(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Writes a line. The lines before and after it are the same number once it is complete.
    pub(crate) fn write(&mut self, line: &str) -> io::Result<()> {
        self.writings += 1;
        let text = format!("{number}\n{line}\n{number}\n", number = self.writings);
        self.file.write_all_at(text.as_bytes(), 0)?;
        self.file.set_len(text.len() as u64)
    }
}
