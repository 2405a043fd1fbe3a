//! Expectations of a step: the registry of the kinds, and the fields that all kinds have.
//!
//! A new kind is a file that implements `kind::Expectation`, and a line in the registry. The judge decides when a timeout has expired.

mod capacities;
pub(crate) mod chain;
mod claims;
mod count;
mod difference;
mod ends;
pub(crate) mod kind;
mod list;
mod metrics;
mod never;
mod objects;
mod order;
pub(crate) mod pattern;
mod pattern_keys;
mod placement;
mod refusal;
mod responses;
pub(crate) mod rows;
mod served;
mod specification;

use std::time::Duration;

use serde::Deserialize;

pub use capacities::{Capacities, Row, Rows};
pub(crate) use chain::Window;
pub(crate) use chain::placement::REQUEUE_RESOURCES;
pub use chain::{Chain, Link};
pub use claims::{ClaimState, Claims};
pub use count::Count;
pub use ends::Ends;
pub use kind::Reason;
pub(crate) use kind::{Expectation, FactView, Names, ObservationState, Observed, all_rows_match};
pub use list::ExpectSpecs;
pub use metrics::{Metric, Metrics};
pub use never::Never;
pub(crate) use objects::check_fields;
pub use objects::{Objects, ObjectsOfKind};
pub use order::Order;
pub use pattern::Pattern;
pub(crate) use pattern_keys::check as check_keys;
pub use placement::{ExpectedNode, Placement};
pub use refusal::Refusal;
pub use responses::Responses;
pub(crate) use responses::response_names;
pub use rows::{DiffRow, RowState, Subject};
pub(crate) use rows::{is_labelled, row_key, values_of};
pub use served::Served;

use crate::scenario::{Bound, parsed};
use specification::Specification;

/// Documentation of an expectation kind in the format of case files.
pub struct Documentation {
    /// The YAML key in a case file that selects the expectation kind.
    pub key: &'static str,
    /// An example of the expectation in YAML.
    pub example: &'static str,
    /// The condition under which the expectation holds.
    pub holds: &'static str,
}

macro_rules! registry {
    ($($(#[$attribute:meta])* $key:ident: $kind:ident,)*) => {
        /// The condition of an expectation: its kind with the values from the case.
        #[derive(Debug, Clone, PartialEq)]
        #[expect(missing_docs, reason = "each variant is documented by the type that it holds")]
        pub enum Predicate {
            $($kind($kind),)*
            /// All rules of the specification for objects and pods.
            Specification,
        }

        impl Predicate {
            pub(crate) fn kind(&self) -> &dyn Expectation {
                match self {
                    $(Predicate::$kind(kind) => kind,)*
                    Predicate::Specification => &Specification,
                }
            }

            fn kind_mut(&mut self) -> Option<&mut dyn Expectation> {
                match self {
                    $(Predicate::$kind(kind) => Some(kind),)*
                    Predicate::Specification => None,
                }
            }
        }

        /// The keys of expectation kinds in a case file, with their documentation.
        pub const KINDS: &[Documentation] = &[$(Documentation {
            key: stringify!($key),
            example: $kind::EXAMPLE,
            holds: $kind::HOLDS,
        },)*];

        /// One expectation of a case file: exactly one kind, with its timing and reason.
        #[derive(Debug, Clone, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct ExpectSpec {
            $($(#[$attribute])* $key: Option<$kind>,)*
            #[serde(default, deserialize_with = "parsed")]
            within: Option<Bound>,
            #[serde(default, deserialize_with = "parsed")]
            stays: Option<Bound>,
            #[serde(default)]
            always: bool,
            why: String,
        }

        impl ExpectSpec {
            fn predicate(&self) -> Result<Predicate, String> {
                let kinds = [$(self.$key.clone().map(Predicate::$kind)),*];
                let mut given = kinds.into_iter().flatten();
                let one_of = [$(stringify!($key)),*].join(", ");
                match (given.next(), given.next()) {
                    (Some(only), None) => Ok(only),
                    (None, _) => Err(format!("an expectation needs one of the keys {one_of}")),
                    (Some(_), Some(_)) => {
                        Err(format!("an expectation has exactly one of the keys {one_of}; write two expectations"))
                    }
                }
            }
        }
    };
}

registry! {
    capacities: Capacities,
    placement: Placement,
    claims: Claims,
    objects: Objects,
    refusal: Refusal,
    #[serde(alias = "answers")]
    responses: Responses,
    served: Served,
    metrics: Metrics,
    ends: Ends,
    never: Never,
    count: Count,
    order: Order,
}

/// One expectation after its names have been resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Expect {
    /// The condition that must become true.
    pub predicate: Predicate,
    /// Timeout within which the condition must become true.
    pub within: Bound,
    /// How long the condition must stay true. None: until all programs are idle.
    pub hold: Option<Bound>,
    /// The condition must be true at every moment of the step. Only for kinds that compare the cluster state.
    pub always: bool,
    /// Reason given by the case, for reports.
    pub why: String,
    /// Line of the expectation in the case file.
    pub line: u64,
}

const DEFAULT_WITHIN: Bound = Bound::Refreshes(5);

/// How long programs may retain the CSIStorageCapacity objects of an unregistered driver, because the driver may register again.
const REGISTRATION_GRACE: Bound = Bound::Time(Duration::from_secs(10));

impl Expect {
    /// Resolves an expectation of a case. Errors are messages; the caller adds the file position.
    pub(crate) fn resolve(
        spec: &ExpectSpec,
        line: u64,
        names: &dyn Names,
        polls: bool,
    ) -> Result<Self, String> {
        let mut predicate = spec.predicate()?;
        if spec.why.trim().is_empty() {
            return Err(
                "`why` is empty; write the reason for the expectation, which reports show with a failure"
                    .to_owned(),
            );
        }
        if let Some(kind) = predicate.kind_mut() {
            kind.resolve(names, spec.always)?;
        }
        let kind = predicate.kind();
        if spec.always && !kind.may_be_always() {
            return Err(
                "`always` applies only to capacities, placement, claims and objects; remove it".to_owned(),
            );
        }
        Ok(Expect {
            hold: spec.stays.or_else(|| kind.default_hold(polls)),
            within: spec.within.unwrap_or(DEFAULT_WITHIN),
            always: spec.always,
            why: spec.why.clone(),
            line,
            predicate,
        })
    }

    /// The expectation `specification` at this line of the case file. `grace`: whether programs may wait for a driver to register again.
    pub(crate) fn specification(line: u64, grace: bool) -> Self {
        Expect {
            predicate: Predicate::Specification,
            within: if grace { REGISTRATION_GRACE } else { DEFAULT_WITHIN },
            hold: None,
            always: false,
            why: "the specification (rules of the KEPs and the CSI spec) requires it".to_owned(),
            line,
        }
    }

    /// Whether the expectation requires that something does not happen.
    pub fn is_negative(&self) -> bool {
        match self.always {
            // An explicit `stays` limits the duration of `always`, so the step need not last until all programs are idle.
            true => self.hold.is_none(),
            false => self.predicate.kind().is_negative(self.hold.is_some()),
        }
    }
}
