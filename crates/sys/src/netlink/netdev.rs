//! NAPI instances of a device, over the generic netlink family "netdev" (Linux 6.8 and later).

use crate::netlink::error::Error;
use crate::netlink::generic::{Family, body};
use crate::netlink::message::{Reply, number};

const NAPI_GET: u8 = 11;
const NAPI_IFINDEX: u16 = 1;
const NAPI_ID: u16 = 2;
const NAPI_PID: u16 = 4;

/// One NAPI instance: the part of a device that polls one of its queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Napi {
    /// Its number, unique on the machine.
    pub id: u32,
    /// The process id of its kernel thread, as the machine's first PID namespace numbers it.
    ///
    /// `None` when it is not threaded, or when the kernel does not report it.
    pub thread_pid: Option<u32>,
}

/// The NAPI instances of the link `index`; `None` when this kernel cannot list them.
pub fn napis(index: u32) -> Result<Option<Vec<Napi>>, Error> {
    let Some(mut family) = Family::open("netdev")? else {
        return Ok(None);
    };
    let message = family.command(NAPI_GET);
    let message = message.attribute_u32(NAPI_IFINDEX, index);
    let asked = format!("list the NAPI instances of link {index}");
    match family.connection.dump(&asked, message) {
        Ok(answer) => Ok(Some(answer.iter().filter_map(read_napi).collect())),
        Err(error) if error.is_unsupported() => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn read_napi(reply: &Reply) -> Option<Napi> {
    Some(Napi {
        id: number(body(reply), NAPI_ID)?,
        thread_pid: number(body(reply), NAPI_PID),
    })
}
