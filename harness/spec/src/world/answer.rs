//! GetCapacity responses of a driver plugin.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use capacity_types::Segment;

/// Parameters of a class as the driver receives them.
pub type Parameters = BTreeMap<String, String>;

/// A driver plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Whether it advertises GET_CAPACITY.
    pub get_capacity: bool,
    /// Responses by request parameters and segment.
    pub answers: BTreeMap<Parameters, BTreeMap<Segment, Answer>>,
    /// The response to all other requests.
    pub otherwise: Answer,
}

/// A GetCapacity response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Capacity values.
    Figures(Figures),
    /// An error, or no response.
    Error {
        /// Responses to equal calls since the last quiescence: a publisher may have received any of them.
        before: BTreeSet<Figures>,
    },
}

/// Values of a GetCapacityResponse, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Figures {
    /// `available_capacity`.
    pub available: i64,
    /// `maximum_volume_size`.
    pub maximum: Option<i64>,
}

impl Figures {
    /// Available bytes without a maximum.
    pub const fn available(available: i64) -> Self {
        Figures {
            available,
            maximum: None,
        }
    }

    /// Whether the values are valid: CSI forbids negative ones.
    pub fn is_sound(self) -> bool {
        self.available >= 0 && self.maximum.is_none_or(|maximum| maximum >= 0)
    }

    /// The values as stored by an API server with or without `maximumVolumeSize`.
    pub fn kept(self, has_maximum: bool) -> Self {
        Figures {
            maximum: self.maximum.filter(|_| has_maximum),
            ..self
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "capacity {}", self.available)?;
        match self.maximum {
            Some(maximum) => write!(f, ", maximum {maximum}"),
            None => write!(f, ", maximum unset"),
        }
    }
}

impl Answer {
    /// Available bytes without a maximum.
    pub fn available(available: i64) -> Self {
        Answer::Figures(Figures::available(available))
    }

    /// An error without earlier responses.
    pub fn error() -> Self {
        Answer::Error {
            before: BTreeSet::new(),
        }
    }
}

impl Default for Driver {
    fn default() -> Self {
        Driver {
            get_capacity: true,
            answers: BTreeMap::new(),
            otherwise: Answer::available(0),
        }
    }
}

impl Driver {
    /// The response for a segment and parameters.
    pub fn answer(&self, segment: &Segment, parameters: &Parameters) -> &Answer {
        let of_parameters = self.answers.get(parameters);
        of_parameters
            .and_then(|answers| answers.get(segment))
            .unwrap_or(&self.otherwise)
    }

    /// Whether all its responses have valid values.
    pub(crate) fn tells_all(&self) -> bool {
        let answers = self.answers.values().flat_map(BTreeMap::values);
        let is_sound = |answer: &Answer| matches!(answer, Answer::Figures(figures) if figures.is_sound());
        answers.chain([&self.otherwise]).all(is_sound)
    }

    /// Forgets the responses before errors.
    pub(crate) fn forget(&mut self) {
        let answers = self.answers.values_mut().flat_map(BTreeMap::values_mut);
        for answer in answers.chain([&mut self.otherwise]) {
            if let Answer::Error { before } = answer {
                before.clear();
            }
        }
    }
}
