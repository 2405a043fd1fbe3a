//! Publishing of CSIStorageCapacity objects: what is wanted (`desired`), what is known (`ledger`), what may have changed (`triggers`), making
//! the two agree (`publish`, `writes`), and the version of the API (`served`).
//! Creates no volumes; is told when others did.

mod desired;
mod ledger;
mod publish;
mod served;
mod triggers;
mod writes;

pub(crate) use desired::{DRIVER_LABEL, MANAGED_BY_LABEL, ManagedBy, parameters_for_driver};
pub(crate) use publish::Publisher;
pub(crate) use served::Capacities;
