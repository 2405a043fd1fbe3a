//! Publishing of CSIStorageCapacity objects: what is wanted (`desired`), what is known (`ledger`), and making the two agree (`publish`).
//! Creates no volumes; is told when others did.

mod desired;
mod ledger;
mod publish;

pub(crate) use desired::{ManagedBy, parameters_for_driver};
pub(crate) use publish::Publisher;
