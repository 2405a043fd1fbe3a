//! CSIStorageCapacity objects that must, may and must not exist at quiescence.
//!
//! ```text
//! ownership  the publisher of an object              pairs  map by class and segment
//! fate       objects without a running publisher
//! wanted     for each publisher, class and segment: the required or allowed object
//! judge      compares existing objects with these
//! settled    the objects that correct programs leave
//! ```

mod fate;
mod judge;
mod ownership;
mod pairs;
mod settled;
mod wanted;

pub use judge::judge;
pub(crate) use judge::judge_since;
pub(crate) use pairs::Pairs;
pub use settled::settled;
pub use wanted::{Demand, Demanded, Wanted};
