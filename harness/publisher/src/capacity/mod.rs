//! Publishing of CSIStorageCapacity objects: what is wanted (`desired`), what is known (`ledger`), what may have changed (`triggers`), making
//! the two agree (`publish`, `writes`), the version of the API (`api_version`), and its watch (`following`).
//! Creates no volumes; the provisioner calls it after it did.

mod api_version;
mod desired;
mod following;
mod ledger;
mod publish;
mod triggers;
mod writes;

pub(crate) use api_version::Capacities;
pub(crate) use desired::{ManagedBy, parameters_for_driver, segment_of};
pub(crate) use publish::Publisher;
