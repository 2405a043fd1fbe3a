//! GetCapacity responses: all, and those since the last quiescence.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use crate::world::{Answer, Driver, Figures, Parameters};

/// Responses by driver, parameters and segment.
#[derive(Default)]
pub(super) struct Told(BTreeMap<String, BTreeMap<Parameters, BTreeMap<Segment, Answers>>>);

/// The responses to equal calls.
#[derive(Default)]
struct Answers {
    /// The maximum of all responses.
    largest: Figures,
    /// All responses since the last quiescence.
    lately: BTreeSet<Figures>,
}

impl Told {
    /// Records a response.
    pub(super) fn add(&mut self, driver: &str, parameters: Parameters, segment: Segment, figures: Figures) {
        let of_driver = self.0.entry(driver.to_owned()).or_default();
        let answers = of_driver
            .entry(parameters)
            .or_default()
            .entry(segment)
            .or_default();
        answers.largest.available = answers.largest.available.max(figures.available);
        answers.largest.maximum = answers.largest.maximum.max(figures.maximum);
        answers.lately.insert(figures);
    }

    /// The maximum of all responses.
    pub(super) fn largest(
        &self,
        driver: &str,
        parameters: &Parameters,
        segment: &Segment,
    ) -> Option<&Figures> {
        Some(&self.answers(driver, parameters, segment)?.largest)
    }

    fn answers(&self, driver: &str, parameters: &Parameters, segment: &Segment) -> Option<&Answers> {
        self.0.get(driver)?.get(parameters)?.get(segment)
    }

    /// The responses since the last quiescence.
    pub(super) fn lately(
        &self,
        driver: &str,
        parameters: &Parameters,
        segment: &Segment,
    ) -> impl Iterator<Item = &Figures> {
        let answers = self.answers(driver, parameters, segment);
        answers.into_iter().flat_map(|answers| &answers.lately)
    }

    /// Adds the recent responses for a segment to those drivers that return an error now. The parameters may differ, because a class may
    /// have been recreated.
    pub(super) fn put_down(&self, drivers: &mut BTreeMap<String, Driver>) {
        for (name, questions) in &self.0 {
            let mut lately: BTreeMap<&Segment, BTreeSet<Figures>> = BTreeMap::new();
            for (segment, answers) in questions.values().flatten() {
                lately.entry(segment).or_default().extend(&answers.lately);
            }
            let Some(driver) = drivers.get_mut(name) else {
                continue;
            };
            if let Answer::Error { before } = &mut driver.otherwise {
                before.extend(lately.values().flatten());
            }
            let known = driver.answers.values_mut().flatten();
            for (segment, answer) in known {
                // An invalid response counts as an error.
                if matches!(answer, Answer::Figures(figures) if !figures.is_sound()) {
                    *answer = Answer::error();
                }
                if let (Answer::Error { before }, Some(told)) = (answer, lately.get(segment)) {
                    before.extend(told);
                }
            }
        }
    }

    /// Resets the recent responses at quiescence.
    pub(super) fn forget(&mut self) {
        let answers = self.0.values_mut().flat_map(BTreeMap::values_mut);
        answers.flatten().for_each(|(_, answers)| answers.lately.clear());
    }
}
