//! Which CSIStorageCapacity objects there must, may and must not be once nothing is in flight any more.
//!
//! ```text
//! ownership  whose an object is                      pairs  something for each class and segment
//! fate       what becomes of objects that no publisher looks after
//! wanted     for each publisher, class and segment: what must, or may, be published
//! judge      the objects that are there, against that
//! settled    the objects that right programs would leave
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
