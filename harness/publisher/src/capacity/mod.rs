//! Publishing of CSIStorageCapacity objects: the desired object (`desired`), desired keys and existing objects (`ledger`), events that
//! require a refresh (`triggers`), reconciliation (`publish`, `writes`), the API version (`api_version`), and the watch (`object_watch`).
//! Does not create volumes; the provisioner triggers a refresh after it created or deleted a volume.

mod api_version;
mod desired;
mod ledger;
mod object_watch;
mod publish;
mod triggers;
mod writes;

pub(crate) use api_version::CapacityClient;
pub(crate) use desired::{ManagedBy, parameters_for_driver, segment_of};
pub(crate) use publish::Publisher;
