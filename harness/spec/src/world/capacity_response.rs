//! GetCapacity responses of a driver.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use capacity_types::Segment;

/// Parameters of a StorageClass that the driver receives.
pub type Parameters = BTreeMap<String, String>;

/// A CSI driver and its GetCapacity responses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Whether the driver advertises GET_CAPACITY.
    pub get_capacity: bool,
    /// Responses by parameters and segment of the request.
    pub responses: BTreeMap<Parameters, BTreeMap<Segment, CapacityResponse>>,
    /// The response to all GetCapacity requests that are not in `responses`.
    pub default_response: CapacityResponse,
}

/// A GetCapacity response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CapacityResponse {
    /// The driver returns these values.
    Reported(ReportedCapacity),
    /// The driver returns an error, or no response arrives.
    Error {
        /// Successful responses to the same call since the last quiescence. A publisher may have received any of them.
        before: BTreeSet<ReportedCapacity>,
    },
}

/// The values in a GetCapacityResponse, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReportedCapacity {
    /// `available_capacity`.
    pub available: i64,
    /// `maximum_volume_size`.
    pub maximum: Option<i64>,
}

impl ReportedCapacity {
    /// GetCapacity values with this `available_capacity` and without a maximum.
    pub const fn available(available: i64) -> Self {
        ReportedCapacity {
            available,
            maximum: None,
        }
    }

    /// Whether the values are valid. The CSI spec forbids negative values.
    pub fn is_valid(self) -> bool {
        self.available >= 0 && self.maximum.is_none_or(|maximum| maximum >= 0)
    }

    /// The values that an API server stores. `has_maximum`: whether its CSIStorageCapacity type has `maximumVolumeSize`.
    pub fn as_stored(self, has_maximum: bool) -> Self {
        ReportedCapacity {
            maximum: self.maximum.filter(|_| has_maximum),
            ..self
        }
    }
}

impl fmt::Display for ReportedCapacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "capacity {}", self.available)?;
        match self.maximum {
            Some(maximum) => write!(f, ", maximum {maximum}"),
            None => write!(f, ", maximum unset"),
        }
    }
}

impl CapacityResponse {
    /// A response with this `available_capacity` and without a maximum.
    pub fn available(available: i64) -> Self {
        CapacityResponse::Reported(ReportedCapacity::available(available))
    }

    /// An error without earlier responses.
    pub fn error() -> Self {
        CapacityResponse::Error {
            before: BTreeSet::new(),
        }
    }
}

impl Default for Driver {
    fn default() -> Self {
        Driver {
            get_capacity: true,
            responses: BTreeMap::new(),
            default_response: CapacityResponse::available(0),
        }
    }
}

impl Driver {
    /// The response to a request with this segment and these parameters.
    pub fn response(&self, segment: &Segment, parameters: &Parameters) -> &CapacityResponse {
        let of_parameters = self.responses.get(parameters);
        of_parameters
            .and_then(|responses| responses.get(segment))
            .unwrap_or(&self.default_response)
    }

    pub(crate) fn reports_valid_capacity(&self) -> bool {
        let responses = self.responses.values().flat_map(BTreeMap::values);
        let is_valid = |response: &CapacityResponse| matches!(response, CapacityResponse::Reported(values) if values.is_valid());
        responses.chain([&self.default_response]).all(is_valid)
    }

    /// Drops the earlier GetCapacity responses that are stored with errors.
    pub(crate) fn drop_earlier_responses(&mut self) {
        let responses = self.responses.values_mut().flat_map(BTreeMap::values_mut);
        for response in responses.chain([&mut self.default_response]) {
            if let CapacityResponse::Error { before } = response {
                before.clear();
            }
        }
    }
}
