//! Generic netlink: finding a family by name, and the header of its messages.

use crate::netlink::connection::Connection;
use crate::netlink::error::Error;
use crate::netlink::message::{Message, Reply, attribute, u16_at};

const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const GENERIC_HEADER_BYTES: usize = 4;

#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) connection: Connection,
    id: u16,
}

impl Family {
    /// Connects to the family of this name; `None` when this kernel does not have it.
    pub(crate) fn open(name: &str) -> Result<Option<Self>, Error> {
        let mut connection = Connection::open(Some(rustix::net::netlink::GENERIC))?;
        let asked = format!("find the netlink family \"{name}\"");
        let message =
            command(GENL_ID_CTRL, CTRL_CMD_GETFAMILY).attribute_text(CTRL_ATTR_FAMILY_NAME, name);
        let answer = match connection.request(&asked, message) {
            Ok(answer) => answer,
            Err(error) if error.errno() == Some(libc::ENOENT) => return Ok(None),
            Err(error) => return Err(error),
        };
        let id = answer
            .iter()
            .find_map(|reply| attribute(body(reply), CTRL_ATTR_FAMILY_ID))
            .and_then(|value| u16_at(value, 0))
            .ok_or_else(|| Error::malformed(asked, "no family id in the answer"))?;
        Ok(Some(Self { connection, id }))
    }

    pub(crate) fn command(&self, number: u8) -> Message {
        command(self.id, number)
    }
}

fn command(family: u16, number: u8) -> Message {
    Message::new(family, 0, &[number, 1, 0, 0])
}

/// The attributes of a generic netlink message.
pub(crate) fn body(reply: &Reply) -> &[u8] {
    reply.payload.get(GENERIC_HEADER_BYTES..).unwrap_or(&[])
}
