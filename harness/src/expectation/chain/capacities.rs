//! Causal chains for published capacity: watch events delivered → GetCapacity called → response returned → object written → write accepted
//! → object visible.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::CapacityValues;
use capacity_types::capacity_api::RESOURCE;
use capacity_types::quantity::format_bytes;
use fake_csi::Method;

use super::{Chain, Window, labels};
use crate::expectation::capacities::Row;
use crate::expectation::rows::{RowState, is_managed, row_key, values_of};
use crate::journal::{CallFact, Change, CommitFact, Fact, Observation, RequestFact};
use crate::scenario::Role;

/// CSI methods that change the driver's available capacity.
const STORAGE_CHANGES: [Method; 3] = [
    Method::CreateVolume,
    Method::DeleteVolume,
    Method::ControllerExpandVolume,
];

impl<'a> Window<'a> {
    pub(in crate::expectation) fn capacity_chain(
        &self,
        want: Option<Row>,
        class: &str,
        segment: &str,
        state: RowState,
    ) -> Chain {
        match (state, want) {
            (RowState::Extra, _) => self.extra_chain(class, segment),
            (_, Some(want)) => self.publish_chain(class, segment, want),
            _ => Chain::default(),
        }
    }

    /// The causal chain from the watch events of StorageClass and CSINode to the published object.
    fn publish_chain(&self, class: &str, segment: &str, want: Row) -> Chain {
        let mut chain = Chain::default();
        if !self.add_class_delivery(&mut chain, class) || !self.add_segment_delivery(&mut chain, segment) {
            return chain;
        }
        let changed = self.last_storage_change(segment);
        let since = changed.map_or(0, |(fact, _)| fact.seq).max(self.relevant_since());
        let last = self.last_response(class, segment, since);
        let call = format!("GetCapacity for class {class} at {segment}");
        if self.add_deletion(&mut chain, class, segment) {
            return chain;
        }
        let otherwise = match changed.filter(|(fact, _)| fact.seq == since) {
            Some((_, call)) => format!("never since {} changed the available capacity", call.method),
            None => format!(
                "never since the step began{}",
                self.format_other_calls(class, since)
            ),
        };
        if !chain.add_link(call, last.map(|(fact, _)| fact), otherwise) {
            return chain;
        }
        if let Some((fact, call)) = last {
            self.response_links(&mut chain, (fact, call), (class, segment), want);
        }
        chain
    }

    /// The GetCapacity call since which the driver has given the same response for a class and segment: of the last equal responses, the
    /// first. What the publisher did afterwards may result from it. `since`: the sequence number of the first fact that is considered.
    pub(super) fn last_response(
        &self,
        class: &str,
        segment: &str,
        since: u64,
    ) -> Option<(&'a Fact, &'a CallFact)> {
        let parameters = self.case.driver_parameters(class);
        let calls = self.facts.iter().filter_map(|fact| match &fact.what {
            Observation::Call(call)
                if fact.seq >= since
                    && call.method == Method::GetCapacity
                    && call.parameters == parameters
                    && call.segment.as_deref().unwrap_or("*") == segment =>
            {
                Some((fact, call))
            }
            _ => None,
        });
        calls.reduce(
            |first, later| match format_response(first.1) == format_response(later.1) {
                true => first,
                false => later,
            },
        )
    }

    /// Whether a program under test deleted the CSIStorageCapacity object in this step. If so, adds the deletion to the causal chain.
    fn add_deletion(&self, chain: &mut Chain, class: &str, segment: &str) -> bool {
        let key = (class.to_owned(), segment.to_owned());
        let last = self.last_commit(|commit| self.is_object_of(commit, &key));
        let deletion = last.filter(|(fact, commit)| {
            fact.seq >= self.from
                && commit.change == Change::Deleted
                && Role::of_client(&commit.client).is_some()
        });
        if let Some((fact, commit)) = deletion {
            let note = format!("{} was deleted by {}", commit.name, commit.client);
            chain.add_proven_link(note.clone(), fact);
            chain.add_missing_link(
                format!("the object of class {class} at {segment} is not deleted"),
                note,
            );
        }
        deletion.is_some()
    }

    /// Describes what the publisher did instead of an expected GetCapacity call: the segments of its calls for the class, and its last
    /// failed API request.
    fn format_other_calls(&self, class: &str, since: u64) -> String {
        let parameters = self.case.driver_parameters(class);
        let segments: BTreeSet<&str> = self
            .facts
            .iter()
            .filter(|fact| fact.seq >= since)
            .filter_map(|fact| match &fact.what {
                Observation::Call(call)
                    if call.method == Method::GetCapacity && call.parameters == parameters =>
                {
                    Some(call.segment.as_deref().unwrap_or("*"))
                }
                _ => None,
            })
            .collect();
        let mut text = match segments.len() {
            0 => String::new(),
            _ => format!("; called for {}", Vec::from_iter(segments).join(" and ")),
        };
        let refused = self.facts.iter().rev().find_map(|fact| match &fact.what {
            Observation::Request(request)
                if request.code >= 400 && Role::of_client(&request.client) == Some(Role::Publisher) =>
            {
                Some(request)
            }
            _ => None,
        });
        if let Some(request) = refused {
            text.push_str(&format!("; {}", format_refusal(request)));
            // Discovery requests have no resource; their message contains the path instead.
            if !request.resource.is_empty() {
                text.push_str(&format!(" of {}", request.resource));
            }
        }
        text
    }

    fn format_volumes_in(&self, segment: &str) -> String {
        let calls = || {
            self.facts.iter().filter_map(|fact| match &fact.what {
                Observation::Call(call) if call.code == "OK" => Some(call),
                _ => None,
            })
        };
        let is_deleted = |made: &CallFact| {
            calls().any(|call| call.method == Method::DeleteVolume && call.volume_id == made.volume_id)
        };
        let mut volumes: BTreeMap<String, i64> = BTreeMap::new();
        for call in calls().filter(|call| !is_deleted(call)) {
            if let (Some(placed), Some(name)) = (&call.placed, &call.volume)
                && placed.segment.as_deref().unwrap_or("*") == segment
            {
                volumes.insert(name.clone(), placed.bytes);
            }
        }
        let texts = volumes
            .into_iter()
            .map(|(name, bytes)| format!("{name} of {}", format_bytes(bytes.into())));
        match Vec::from_iter(texts) {
            none if none.is_empty() => String::new(),
            all => format!(", which holds {}", all.join(" and ")),
        }
    }

    /// The last CreateVolume, DeleteVolume or ControllerExpandVolume call that changed the segment's capacity, so that earlier GetCapacity
    /// responses are outdated. Ignores repeated calls for the same volume.
    fn last_storage_change(&self, segment: &str) -> Option<(&'a Fact, &'a CallFact)> {
        let mut seen = BTreeSet::new();
        let changes = || {
            self.facts.iter().filter_map(|fact| match &fact.what {
                Observation::Call(call) if call.code == "OK" && STORAGE_CHANGES.contains(&call.method) => {
                    Some((fact, call))
                }
                _ => None,
            })
        };
        // Only the response of CreateVolume contains the volume's segment.
        let made = |call: &CallFact| {
            changes().find(|(_, made)| made.placed.is_some() && made.volume_id == call.volume_id)
        };
        let affects_segment = |call: &CallFact| {
            let made = made(call).and_then(|(_, made)| made.placed.as_ref()?.segment.as_deref());
            made.is_none_or(|made| made == segment)
        };
        changes()
            .filter(|(_, call)| seen.insert((&call.method, &call.volume)) && affects_segment(call))
            .last()
    }

    /// Adds to the causal chain the events from the driver's GetCapacity response to the published object.
    fn response_links(&self, chain: &mut Chain, call_fact: (&Fact, &CallFact), row: (&str, &str), want: Row) {
        let (fact, call) = call_fact;
        let response = format_response(call);
        if !is_returned(call, want) {
            chain.add_missing_link(
                format!("the driver answers {want}"),
                format!("it answered {response}{}", self.format_volumes_in(row.1)),
            );
            return;
        }
        chain.add_proven_link(format!("the driver answered {response}"), fact);
        let (class, segment) = row;
        let key = (class.to_owned(), segment.to_owned());
        let written =
            self.last_commit(|commit| self.is_object_of(commit, &key) && commit.change != Change::Deleted);
        let Some((fact, commit)) = written.filter(|(written, _)| written.seq >= self.relevant_since()) else {
            let note = match self.failed_request(Role::Publisher, RESOURCE) {
                Some(request) => format_refusal(request),
                None => "no write was attempted".to_owned(),
            };
            let change = match want {
                Row::Values(_) => "is written",
                Row::Nothing => "is deleted, or written without capacity",
            };
            chain.add_missing_link(format!("the object of class {class} at {segment} {change}"), note);
            return;
        };
        if Role::of_client(&commit.client) != Some(Role::Publisher) && commit.change == Change::Modified {
            chain.add_proven_link(format!("{} was changed by {}", commit.name, commit.client), fact);
            let note = match self.failed_request(Role::Publisher, RESOURCE) {
                Some(request) => format_refusal(request),
                None => "no write was attempted".to_owned(),
            };
            chain.add_missing_link(format!("the publisher corrects {}", commit.name), note);
            return;
        }
        chain.add_proven_link(format!("the object {} was written", commit.name), fact);
        let got = values_of(&commit.object);
        if want == Row::Values(got) {
            chain.add_missing_link(
                "the object stays",
                "it was written as expected, and changed or deleted later",
            );
        } else {
            chain.add_missing_link(format!("the object has {want}"), format!("it has {got}"));
        }
    }

    /// Explains why an unexpected CSIStorageCapacity object exists.
    fn extra_chain(&self, class: &str, segment: &str) -> Chain {
        let mut chain = Chain::default();
        let key = (class.to_owned(), segment.to_owned());
        let written = self.last_commit(|commit| self.is_object_of(commit, &key));
        let cause = self.last_commit(|commit| {
            commit.change == Change::Deleted
                && match &*commit.resource {
                    "storageclasses" => commit.name == class,
                    "csinodes" | "nodes" => self.nodes_of(segment).contains(&commit.name),
                    _ => false,
                }
        });
        match (cause, written) {
            (Some((_, cause)), _) => {
                let text = format!(
                    "the end of {} {} delivered to the publisher",
                    cause.resource, cause.name
                );
                if self.delivery_link(&mut chain, text, Role::Publisher, cause) {
                    let note = match self.failed_request(Role::Publisher, RESOURCE) {
                        Some(request) => format_refusal(request),
                        None => "no delete was attempted".to_owned(),
                    };
                    chain.add_missing_link("the obsolete object is deleted", note);
                }
            }
            (None, Some((_, commit))) => {
                let note = format!("{} was written by {}", commit.name, commit.client);
                chain.add_missing_link(format!("no object for class {class} at {segment}"), note);
            }
            (None, None) => {}
        }
        chain
    }

    fn is_object_of(&self, commit: &CommitFact, key: &(String, String)) -> bool {
        &*commit.resource == RESOURCE
            && is_managed(self.case, self.cluster, &commit.object)
            && row_key(self.case, &commit.object) == *key
    }

    fn add_class_delivery(&self, chain: &mut Chain, class: &str) -> bool {
        let committed =
            self.last_commit(|commit| &*commit.resource == "storageclasses" && commit.name == class);
        let Some((_, commit)) = committed else {
            chain.add_missing_link(format!("StorageClass {class} exists"), "it was never created");
            return false;
        };
        let text = format!("StorageClass {class} delivered to the publisher");
        self.delivery_link(chain, text, Role::Publisher, commit)
    }

    /// Adds to the causal chain the watch event of a CSINode in the segment. Returns whether the publisher received it, or needs none
    /// because it is distributed or the driver has no topology.
    fn add_segment_delivery(&self, chain: &mut Chain, segment: &str) -> bool {
        if self.case.is_distributed() || segment == "*" {
            return true;
        }
        let nodes = self.nodes_of(segment);
        let committed = self.last_commit(|commit| {
            &*commit.resource == "csinodes"
                && commit.change != Change::Deleted
                && nodes.contains(&commit.name)
        });
        let Some((_, commit)) = committed else {
            chain.add_missing_link(format!("a CSINode of {segment} exists"), "none was ever created");
            return false;
        };
        let text = format!("CSINode {} delivered to the publisher", commit.name);
        self.delivery_link(chain, text, Role::Publisher, commit)
    }

    /// Nodes whose labels have matched this segment at any time.
    fn nodes_of(&self, segment: &str) -> Vec<String> {
        let of_commit = |fact: &Fact| match &fact.what {
            Observation::Commit(commit) if &*commit.resource == "nodes" => {
                let of_node = self.case.segments.segment_of_node(&labels(&commit.object)?)?;
                (self.case.segments.format(&of_node) == segment).then(|| commit.name.clone())
            }
            _ => None,
        };
        self.facts.iter().filter_map(of_commit).collect()
    }

    /// Sequence number of the first fact that is considered: 0 in the first step, because programs may call the driver before the actions
    /// of that step.
    fn relevant_since(&self) -> u64 {
        let first = self
            .facts
            .iter()
            .find(|fact| matches!(fact.what, Observation::StepStarted(_)));
        if first.is_some_and(|first| first.seq == self.from) {
            0
        } else {
            self.from
        }
    }
}

fn is_returned(call: &CallFact, want: Row) -> bool {
    match want {
        Row::Values(values) => call.code == "OK" && values == response_capacity(call),
        Row::Nothing => true,
    }
}

fn format_refusal(request: &RequestFact) -> String {
    let message = request.message.as_deref().unwrap_or("without a message");
    format!("refused: {} {} {message}", request.verb, request.code)
}

/// `available_capacity` and `maximum_volume_size` of a GetCapacity response.
fn response_capacity(call: &CallFact) -> CapacityValues {
    CapacityValues {
        capacity: call.available.map(i128::from),
        maximum: call.maximum.map(i128::from),
    }
}

pub(super) fn format_response(call: &CallFact) -> String {
    match call.available {
        Some(_) => response_capacity(call).to_string(),
        None => format!("{} {}", call.code, call.message.as_deref().unwrap_or_default()),
    }
}
