//! What the driver ever answered: the largest figures for each question.

use std::collections::BTreeMap;

use capacity_types::Segment;

use crate::world::{Figures, Parameters};

/// The largest figures by driver, parameters and segment.
#[derive(Default)]
pub(super) struct Told(BTreeMap<String, BTreeMap<Parameters, BTreeMap<Segment, Figures>>>);

impl Told {
    /// Takes an answer in.
    pub(super) fn add(&mut self, driver: &str, parameters: Parameters, segment: Segment, figures: Figures) {
        let of_driver = self.0.entry(driver.to_owned()).or_default();
        let largest = of_driver
            .entry(parameters)
            .or_default()
            .entry(segment)
            .or_insert(figures);
        largest.available = largest.available.max(figures.available);
        largest.maximum = largest.maximum.max(figures.maximum);
    }

    /// The largest figures that were ever answered.
    pub(super) fn largest(
        &self,
        driver: &str,
        parameters: &Parameters,
        segment: &Segment,
    ) -> Option<&Figures> {
        self.0.get(driver)?.get(parameters)?.get(segment)
    }
}
