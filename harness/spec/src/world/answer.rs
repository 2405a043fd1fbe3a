//! What the plugin behind a driver would answer to GetCapacity.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use capacity_types::Segment;

/// Parameters of a class, as the driver gets them.
pub type Parameters = BTreeMap<String, String>;

/// The plugin behind a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    /// Whether it advertises GET_CAPACITY.
    pub get_capacity: bool,
    /// What it answers, by the parameters and the segment that it is asked for.
    pub answers: BTreeMap<Parameters, BTreeMap<Segment, Answer>>,
    /// What it answers to anything else.
    pub otherwise: Answer,
}

/// An answer to GetCapacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Figures.
    Figures(Figures),
    /// An error, or no answer at all.
    Error {
        /// What it answered to this question since the world was last quiet: a publisher may have heard any of it.
        before: BTreeSet<Figures>,
    },
}

/// Figures of a GetCapacityResponse, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Figures {
    /// `available_capacity`.
    pub available: i64,
    /// `maximum_volume_size`.
    pub maximum: Option<i64>,
}

impl Figures {
    /// So many bytes available, and no maximum told.
    pub const fn available(available: i64) -> Self {
        Figures {
            available,
            maximum: None,
        }
    }

    /// Whether they make sense: CSI does not allow negative figures.
    pub fn is_sound(self) -> bool {
        self.available >= 0 && self.maximum.is_none_or(|maximum| maximum >= 0)
    }

    /// As an API server keeps them that may not know the maximum.
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
    /// So many bytes available, and no maximum told.
    pub fn available(available: i64) -> Self {
        Answer::Figures(Figures::available(available))
    }

    /// An error after nothing.
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
    /// What it answers for a segment and these parameters.
    pub fn answer(&self, segment: &Segment, parameters: &Parameters) -> &Answer {
        let of_parameters = self.answers.get(parameters);
        of_parameters
            .and_then(|answers| answers.get(segment))
            .unwrap_or(&self.otherwise)
    }

    /// Whether it answers every question with figures that make sense.
    pub(crate) fn tells_all(&self) -> bool {
        let answers = self.answers.values().flat_map(BTreeMap::values);
        let is_sound = |answer: &Answer| matches!(answer, Answer::Figures(figures) if figures.is_sound());
        answers.chain([&self.otherwise]).all(is_sound)
    }

    /// Forgets what it answered before it did not answer any more.
    pub(crate) fn forget(&mut self) {
        let answers = self.answers.values_mut().flat_map(BTreeMap::values_mut);
        for answer in answers.chain([&mut self.otherwise]) {
            if let Answer::Error { before } = answer {
                before.clear();
            }
        }
    }
}
