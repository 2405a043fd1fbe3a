//! A violation of a rule: the rule and the object, pod, call or program that violates it.

use std::collections::BTreeMap;
use std::fmt;

use capacity_types::{Segment, segment};

use crate::rules::Rule;
use crate::world::{Instance, NamespacedName};

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The violated rule.
    pub rule: &'static Rule,
    /// The object, pod, call or program that violates the rule.
    pub subject: Subject,
    /// Text that describes the actual and the expected state.
    pub detail: String,
}

/// The object, pod, call or program that violates a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The CSIStorageCapacity objects of a publisher for a class and a segment.
    ClassAndSegment {
        /// The publisher of the objects.
        instance: Instance,
        /// Name of the objects' StorageClass.
        class: String,
        /// Topology segment of the objects.
        segment: Segment,
    },
    /// A CSIStorageCapacity object.
    Object(NamespacedName),
    /// A pod.
    Pod(NamespacedName),
    /// A PVC.
    Claim(NamespacedName),
    /// A volume, identified by its name in CreateVolume.
    Volume(String),
    /// The metrics of a program, identified by the client name.
    Program(String),
    /// The settings of a program.
    Settings(String),
    /// A request to the API server, identified by the plural resource name.
    Request(String),
    /// A call to a driver.
    Call {
        /// Name of the driver.
        driver: String,
        /// Topology segment in the call.
        segment: Segment,
    },
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::ClassAndSegment {
                instance,
                class,
                segment,
            } => {
                write!(f, "{}, class {class}, {}", instance.driver, segment_text(segment))
            }
            Subject::Object(key) => write!(f, "object {key}"),
            Subject::Pod(key) => write!(f, "pod {key}"),
            Subject::Claim(key) => write!(f, "claim {key}"),
            Subject::Volume(name) => write!(f, "volume {name}"),
            Subject::Program(client) => write!(f, "metrics of {client}"),
            Subject::Settings(program) => write!(f, "settings of {program}"),
            Subject::Request(resource) => write!(f, "request for {resource}"),
            Subject::Call { driver, segment } => {
                write!(f, "GetCapacity of {driver}, {}", segment_text(segment))
            }
        }
    }
}

pub(crate) fn segment_text(segment: &Segment) -> String {
    match segment.is_empty() {
        true => "every node".to_owned(),
        false => segment::format(segment),
    }
}

/// Formats labels or parameters as `key=value,key=value`; `none` if there are none.
pub(crate) fn map_text(map: &BTreeMap<String, String>) -> String {
    match map.is_empty() {
        true => "none".to_owned(),
        false => segment::format(map),
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirements = self.rule.requirements.join(", ");
        let Violation { subject, detail, .. } = self;
        write!(
            f,
            "{subject}: {detail} ({}: {}; {requirements})",
            self.rule.id, self.rule.sentence
        )
    }
}
