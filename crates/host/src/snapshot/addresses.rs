//! The addresses of the links, with their attributes.

use bitcost_sys::netlink::{AddressRecord, Link, Rtnl};

use super::facts::{Records, Snapshot, name, unknown};
use crate::HostError;

pub const WORD: &str = "address";

/// Every address of these links, without the temporary ones that the kernel makes.
pub fn list(links: &[Link], snapshot: &mut Snapshot) -> Result<(), HostError> {
    for record in Rtnl::open()?.address_records()? {
        if let Some(link) = links
            .iter()
            .find(|link| link.index == record.link)
            .filter(|_| !record.is_temporary())
        {
            let fact = fact_name(link, &record);
            snapshot.facts.insert(fact.clone(), value(&record));
            snapshot.records.addresses.insert(fact, record);
        }
    }
    Ok(())
}

fn fact_name(link: &Link, record: &AddressRecord) -> String {
    name(
        WORD,
        &link.name,
        &format!("{}/{}", record.address, record.prefix_length),
    )
}

fn value(record: &AddressRecord) -> String {
    let life = if record.is_forever {
        "forever"
    } else {
        "temporary"
    };
    let others: String = record
        .others
        .iter()
        .map(|other| format!(" {other}"))
        .collect();
    format!(
        "scope {} flags {:#x} {life}{others}",
        record.scope, record.flags
    )
}

pub fn restore(name: &str, _value: &str, records: &Records) -> Result<(), HostError> {
    let record = records.addresses.get(name).ok_or_else(|| unknown(name))?;
    Ok(Rtnl::open()?.add_address_again(record)?)
}
