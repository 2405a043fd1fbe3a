//! The settings that a placement decision depends on.

use crate::defect::Defect;
use crate::quantity::Arithmetic;
use crate::shape::Shape;

/// How to decide.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// How quantities become numbers, and what their products do above 2^63.
    pub arithmetic: Arithmetic,
    /// The scoring function, when `StorageCapacityScoring` (KEP-4049) is on.
    pub shape: Option<Shape>,
    /// The gate `CSIStorageCapacity` of the scheduler is off: capacity does not matter to any pod.
    pub without_capacity: bool,
    /// The deliberate defect, if any.
    pub defect: Option<Defect>,
}

impl Rules {
    /// Whether this deliberate defect was chosen.
    pub fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }
}
