//! Publishing of CSIStorageCapacity objects: what is wanted (`desired`), what is known (`ledger`), making the two agree (`publish`),
//! and the version of the API (`served`).
//! Creates no volumes; is told when others did.

mod desired;
mod ledger;
mod publish;
mod served;

pub(crate) use desired::{DRIVER_LABEL, MANAGED_BY_LABEL, ManagedBy, parameters_for_driver};
pub(crate) use publish::Publisher;
pub(crate) use served::Capacities;
