//! Stores GetCapacity responses: the maximum of all responses, and each response since the last quiescence.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::Segment;

use crate::world::{CapacityResponse, Driver, Parameters, ReportedCapacity};

/// GetCapacity responses by driver, request parameters and segment.
#[derive(Default)]
pub(super) struct CapacityResponses(BTreeMap<String, BTreeMap<Parameters, BTreeMap<Segment, CallResponses>>>);

/// The responses to GetCapacity calls of one driver with equal parameters and equal segments.
#[derive(Default)]
struct CallResponses {
    /// The maximum of each capacity value over all GetCapacity responses so far.
    maximum_reported: ReportedCapacity,
    /// The distinct GetCapacity responses since the last quiescence.
    recent: BTreeSet<ReportedCapacity>,
}

impl CapacityResponses {
    pub(super) fn add(
        &mut self,
        driver: &str,
        parameters: Parameters,
        segment: Segment,
        values: ReportedCapacity,
    ) {
        let of_driver = self.0.entry(driver.to_owned()).or_default();
        let responses = of_driver
            .entry(parameters)
            .or_default()
            .entry(segment)
            .or_default();
        responses.maximum_reported.available = responses.maximum_reported.available.max(values.available);
        responses.maximum_reported.maximum = responses.maximum_reported.maximum.max(values.maximum);
        responses.recent.insert(values);
    }

    /// The maximum of each capacity value over all responses so far to GetCapacity calls with these parameters and this segment.
    pub(super) fn maximum_reported(
        &self,
        driver: &str,
        parameters: &Parameters,
        segment: &Segment,
    ) -> Option<&ReportedCapacity> {
        Some(&self.responses(driver, parameters, segment)?.maximum_reported)
    }

    fn responses(&self, driver: &str, parameters: &Parameters, segment: &Segment) -> Option<&CallResponses> {
        self.0.get(driver)?.get(parameters)?.get(segment)
    }

    /// The responses to GetCapacity calls with these parameters and this segment since the last quiescence.
    pub(super) fn recent(
        &self,
        driver: &str,
        parameters: &Parameters,
        segment: &Segment,
    ) -> impl Iterator<Item = &ReportedCapacity> {
        let responses = self.responses(driver, parameters, segment);
        responses.into_iter().flat_map(|responses| &responses.recent)
    }

    /// Adds the responses since the last quiescence to drivers that currently return an error. Ignores the parameters of the calls, because
    /// a StorageClass may have been created again with other parameters.
    pub(super) fn add_to_failing_drivers(&self, drivers: &mut BTreeMap<String, Driver>) {
        for (name, by_parameters) in &self.0 {
            let mut by_segment: BTreeMap<&Segment, BTreeSet<ReportedCapacity>> = BTreeMap::new();
            for (segment, responses) in by_parameters.values().flatten() {
                by_segment.entry(segment).or_default().extend(&responses.recent);
            }
            let Some(driver) = drivers.get_mut(name) else {
                continue;
            };
            if let CapacityResponse::Error { before } = &mut driver.default_response {
                before.extend(by_segment.values().flatten());
            }
            let known = driver.responses.values_mut().flatten();
            for (segment, response) in known {
                // A GetCapacity response with invalid values counts as an error.
                if matches!(response, CapacityResponse::Reported(values) if !values.is_valid()) {
                    *response = CapacityResponse::error();
                }
                if let (CapacityResponse::Error { before }, Some(recent)) =
                    (response, by_segment.get(segment))
                {
                    before.extend(recent);
                }
            }
        }
    }

    /// Called at quiescence: drops the GetCapacity responses received until now, except their maximum.
    pub(super) fn clear_recent(&mut self) {
        let responses = self.0.values_mut().flat_map(BTreeMap::values_mut);
        responses
            .flatten()
            .for_each(|(_, responses)| responses.recent.clear());
    }
}
