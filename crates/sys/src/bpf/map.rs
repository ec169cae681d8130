//! An array of elements of whole numbers that programs and this process share (`BPF_MAP_TYPE_ARRAY`).

use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};

use super::call::{BpfError, Command, call, open};

/// `BPF_MAP_TYPE_ARRAY`.
const ARRAY: u32 = 2;

/// The attributes of `BPF_MAP_CREATE`.
#[repr(C)]
struct Create {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    elements: u32,
    flags: u32,
}

// SAFETY: the number and the layout are of BPF_MAP_CREATE in linux/bpf.h, and there is no address in it.
unsafe impl Command for Create {
    const NUMBER: libc::c_long = 0;
    const NAME: &'static str = "BPF_MAP_CREATE";
}

/// The attributes of `BPF_MAP_LOOKUP_ELEM` and `BPF_MAP_UPDATE_ELEM`.
#[repr(C)]
struct Element<'a, const NUMBER: i64> {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
    borrowed: PhantomData<(&'a u32, &'a mut Words)>,
}

const LOOKUP: i64 = 1;
const UPDATE: i64 = 2;

// SAFETY: the number and the layout are of BPF_MAP_LOOKUP_ELEM in linux/bpf.h. `Element::new` takes the addresses from
// borrowed values of the map's sizes, and the value is borrowed exclusively.
unsafe impl Command for Element<'_, LOOKUP> {
    const NUMBER: libc::c_long = LOOKUP as libc::c_long;
    const NAME: &'static str = "BPF_MAP_LOOKUP_ELEM";
}

// SAFETY: as for BPF_MAP_LOOKUP_ELEM; the kernel only reads the value.
unsafe impl Command for Element<'_, UPDATE> {
    const NUMBER: libc::c_long = UPDATE as libc::c_long;
    const NAME: &'static str = "BPF_MAP_UPDATE_ELEM";
}

/// An element: 16 numbers, two cache lines, so that elements of different CPUs are in different lines.
pub type Words = [u64; 16];

/// An array, which starts with zeros.
#[derive(Debug)]
pub struct Array {
    descriptor: OwnedFd,
}

impl Array {
    /// Makes an array.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` where the host demands it, `EINVAL` for no element, `ENOSYS` where the kernel lacks BPF.
    pub fn new(elements: u32) -> Result<Array, BpfError> {
        let create = Create {
            kind: ARRAY,
            key_bytes: size_of::<u32>() as u32,
            value_bytes: size_of::<Words>() as u32,
            elements,
            flags: 0,
        };
        Ok(Array {
            descriptor: open(&create)?,
        })
    }

    /// Reads an element.
    ///
    /// # Errors
    /// `ENOENT` where there is no such element.
    pub fn read(&self, index: u32) -> Result<Words, BpfError> {
        let mut words = Words::default();
        call(&self.element::<LOOKUP>(&index, &mut words))?;
        Ok(words)
    }

    /// Writes an element.
    ///
    /// # Errors
    /// `E2BIG` where there is no such element.
    pub fn write(&self, index: u32, mut words: Words) -> Result<(), BpfError> {
        call(&self.element::<UPDATE>(&index, &mut words)).map(drop)
    }

    fn element<'a, const NUMBER: i64>(
        &self,
        index: &'a u32,
        words: &'a mut Words,
    ) -> Element<'a, NUMBER> {
        Element {
            map: self.descriptor.as_raw_fd().cast_unsigned(),
            padding: 0,
            key: (&raw const *index).expose_provenance() as u64,
            value: (&raw mut *words).expose_provenance() as u64,
            flags: 0,
            borrowed: PhantomData,
        }
    }

    /// The number of its descriptor, by which an instruction names it.
    pub fn number(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }
}
