//! State predicates over a [`World`]: are they true, and if not, all the differences as rows.

use std::collections::{BTreeMap, BTreeSet};

use fake_apiserver::quantity::Quantity;
use serde_json::Value;

use super::objects;
use crate::plan::{DRIVER_LABEL, MANAGED_LABEL, Place, Plan, Predicate, Row, Rows, WORKLOADS};
use crate::scenario::ClaimState;
use crate::world::World;

/// How one row of an expectation compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowState {
    /// As wanted.
    Same,
    /// Wanted, and not there.
    Missing,
    /// There, and not wanted.
    Extra,
    /// There, with another value.
    Differs,
}

/// One row of wanted against got.
#[derive(Debug, Clone)]
pub struct DiffRow {
    /// How they compare.
    pub state: RowState,
    /// What the row is about: class and segment, pod, claim or object.
    pub subject: Vec<String>,
    /// Wanted, in words.
    pub want: String,
    /// Got, in words.
    pub got: String,
}

/// Evaluates a state predicate. Returns a row for each thing it speaks about; all [`RowState::Same`] means true.
pub(super) fn evaluate(plan: &Plan, world: &World, predicate: &Predicate) -> Vec<DiffRow> {
    match predicate {
        Predicate::Capacities(rows) => capacities(plan, world, rows),
        Predicate::Placement(pods) => pods
            .iter()
            .map(|(pod, place)| placement(world, pod, place))
            .collect(),
        Predicate::Claims(claims) => claims
            .iter()
            .map(|(claim, want)| claim_row(world, claim, *want))
            .collect(),
        Predicate::Objects(list) => list.iter().flat_map(|want| objects::rows(world, want)).collect(),
        Predicate::Answers(wanted) => super::answers::rows(plan, world, wanted),
        Predicate::Refusal(pods) => pods.iter().map(|(pod, text)| refusal(world, pod, text)).collect(),
        Predicate::Never { .. } | Predicate::Count(_) | Predicate::Order(_) => Vec::new(),
    }
}

/// Whether a state predicate is true.
pub(super) fn is_true(plan: &Plan, world: &World, predicate: &Predicate) -> bool {
    match predicate {
        // A world with more objects than can be wanted needs no comparison: there may be thousands.
        Predicate::Capacities(rows) if published(plan, world).nth(rows.len()).is_some() => false,
        _ => holds(&evaluate(plan, world, predicate)),
    }
}

/// Whether all rows are as wanted.
fn holds(rows: &[DiffRow]) -> bool {
    rows.iter().all(|row| row.state == RowState::Same)
}

/// What a published object offers, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) capacity: Option<i128>,
    pub(crate) maximum: Option<i128>,
}

impl Offer {
    pub(crate) fn of(object: &Value) -> Self {
        let bytes = |key: &str| {
            object[key]
                .as_str()?
                .parse::<Quantity>()
                .ok()
                .map(|quantity| quantity.ceil())
        };
        Offer {
            capacity: bytes("capacity"),
            maximum: bytes("maximumVolumeSize"),
        }
    }

    /// KEP-1472: absent, unset and zero say the same; the maximum decides where it is set.
    fn is_nothing(self) -> bool {
        self.maximum.or(self.capacity).unwrap_or(0) <= 0
    }
}

/// Whether an object is the publisher's: by its labels, or because it made it. That the labels are missing is a finding.
pub(super) fn is_managed(plan: &Plan, world: &World, object: &Value) -> bool {
    is_labelled(plan, object) || world.is_made_by_publisher(object)
}

/// Whether the labels say that the object is of a publisher of the case's driver, perhaps of an earlier life of it.
pub(super) fn is_labelled(plan: &Plan, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    labels[DRIVER_LABEL] == plan.driver.name.as_str() && labels[MANAGED_LABEL].is_string()
}

/// Class and segment of a capacity object.
pub(crate) fn row_key(plan: &Plan, object: &Value) -> (String, String) {
    let class = object["storageClassName"].as_str().unwrap_or_default().to_owned();
    (class, plan.segments.spell_topology(object.get("nodeTopology")))
}

/// The objects of the case's publisher.
fn published<'w>(plan: &'w Plan, world: &'w World) -> impl Iterator<Item = &'w Value> {
    world
        .objects("csistoragecapacities")
        .map(|(_, object)| &**object)
        .filter(|object| is_managed(plan, world, object))
}

fn capacities(plan: &Plan, world: &World, want: &Rows) -> Vec<DiffRow> {
    let mut got: BTreeMap<(String, String), Vec<Offer>> = BTreeMap::new();
    for object in published(plan, world) {
        got.entry(row_key(plan, object))
            .or_default()
            .push(Offer::of(object));
    }
    let keys: BTreeSet<_> = want.keys().chain(got.keys()).cloned().collect();
    let mut rows = Vec::new();
    for key in keys {
        let offers = got.get(&key).map(Vec::as_slice).unwrap_or_default();
        rows.extend(capacity_rows(key.clone(), want.get(&key), offers));
    }
    rows
}

/// Rows for one class and segment: the first object is compared, each further one is extra.
fn capacity_rows(key: (String, String), want: Option<&Row>, got: &[Offer]) -> Vec<DiffRow> {
    let subject = vec![key.0, key.1];
    let row = |state, want: String, got: String| DiffRow {
        state,
        subject: subject.clone(),
        want,
        got,
    };
    let mut rows = Vec::new();
    match (want, got.first()) {
        (Some(want), None) if *want == Row::Nothing => {
            rows.push(row(RowState::Same, spell_row(*want), "-".into()));
        }
        (Some(want), None) => rows.push(row(RowState::Missing, spell_row(*want), "-".into())),
        (Some(want), Some(offer)) => {
            let state = if matches(*want, *offer) {
                RowState::Same
            } else {
                RowState::Differs
            };
            rows.push(row(state, spell_row(*want), spell_offer(*offer)));
        }
        (None, _) => {}
    }
    let surplus = got.iter().skip(usize::from(want.is_some()));
    rows.extend(surplus.map(|offer| row(RowState::Extra, "-".into(), spell_offer(*offer))));
    rows
}

fn matches(want: Row, got: Offer) -> bool {
    match want {
        Row::Nothing => got.is_nothing(),
        Row::Values { capacity, maximum } => (capacity, maximum) == (got.capacity, got.maximum),
    }
}

pub(super) fn spell_row(row: Row) -> String {
    match row {
        Row::Nothing => "nothing".to_owned(),
        Row::Values { capacity, maximum } => spell_offer(Offer { capacity, maximum }),
    }
}

pub(crate) fn spell_offer(offer: Offer) -> String {
    let spell = |bytes: Option<i128>| bytes.map_or_else(|| "unset".to_owned(), spell_bytes);
    match offer.maximum {
        Some(maximum) => format!("{} (maximum {})", spell(offer.capacity), spell_bytes(maximum)),
        None => spell(offer.capacity),
    }
}

/// Bytes in the largest unit that divides them, such as `10Gi`: exact, as the API's quantities are.
pub fn spell_bytes(bytes: i128) -> String {
    const UNITS: [(&str, i128); 12] = [
        ("Ei", 1 << 60),
        ("Pi", 1 << 50),
        ("Ti", 1 << 40),
        ("Gi", 1 << 30),
        ("E", 1_000_000_000_000_000_000),
        ("P", 1_000_000_000_000_000),
        ("T", 1_000_000_000_000),
        ("G", 1_000_000_000),
        ("Mi", 1 << 20),
        ("M", 1_000_000),
        ("Ki", 1 << 10),
        ("k", 1_000),
    ];
    let unit = UNITS.iter().find(|(_, size)| bytes != 0 && bytes % size == 0);
    unit.map_or_else(
        || bytes.to_string(),
        |(name, size)| format!("{}{name}", bytes / size),
    )
}

/// The node a pod is on.
pub(super) fn node_of(world: &World, pod: &str) -> Option<String> {
    let node = world.object("pods", Some(WORKLOADS), pod)?["spec"]["nodeName"].as_str()?;
    (!node.is_empty()).then(|| node.to_owned())
}

fn placement(world: &World, pod: &str, want: &Place) -> DiffRow {
    let node = node_of(world, pod);
    let refusal = world.refusal(pod);
    let got = match (&node, refusal) {
        (Some(node), _) => node.clone(),
        (None, Some(_)) => "refused".to_owned(),
        (None, None) => "undecided".to_owned(),
    };
    let (holds, want) = match want {
        Place::On(nodes) => (
            node.as_ref().is_some_and(|node| nodes.contains(node)),
            nodes.join(" or "),
        ),
        Place::Anywhere => (node.is_some(), "any node".to_owned()),
        Place::Refused => (node.is_none() && refusal.is_some(), "refused".to_owned()),
    };
    let state = match (holds, node.is_some()) {
        (true, _) => RowState::Same,
        (false, true) => RowState::Differs,
        (false, false) => RowState::Missing,
    };
    DiffRow {
        state,
        subject: vec![format!("pod {pod}")],
        want,
        got,
    }
}

fn claim_row(world: &World, name: &str, want: ClaimState) -> DiffRow {
    let got = match world.object("persistentvolumeclaims", Some(WORKLOADS), name) {
        None => ClaimState::Absent,
        Some(claim) if claim["status"]["phase"] == "Bound" => ClaimState::Bound,
        Some(_) => ClaimState::Pending,
    };
    let spell = |state: ClaimState| format!("{state:?}").to_lowercase();
    let state = if got == want {
        RowState::Same
    } else {
        RowState::Differs
    };
    DiffRow {
        state,
        subject: vec![format!("claim {name}")],
        want: spell(want),
        got: spell(got),
    }
}

fn refusal(world: &World, pod: &str, want: &str) -> DiffRow {
    let said = world.refusal(pod).map(|refusal| refusal.text.clone());
    let (state, got) = match (node_of(world, pod), said) {
        // What was said before is history.
        (Some(node), _) => (RowState::Differs, format!("placed on {node}")),
        (None, Some(text)) if text.contains(want) => (RowState::Same, text),
        (None, Some(text)) => (RowState::Differs, text),
        (None, None) => (RowState::Missing, "no refusal".to_owned()),
    };
    DiffRow {
        state,
        subject: vec![format!("pod {pod}")],
        want: want.to_owned(),
        got,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_absent_unset_or_zero() {
        let key = ("c".to_owned(), "n1".to_owned());
        let row = |offers: &[Offer]| capacity_rows(key.clone(), Some(&Row::Nothing), offers)[0].state;
        assert_eq!(row(&[]), RowState::Same);
        assert_eq!(
            row(&[Offer {
                capacity: None,
                maximum: None
            }]),
            RowState::Same
        );
        assert_eq!(
            row(&[Offer {
                capacity: Some(0),
                maximum: None
            }]),
            RowState::Same
        );
        assert_eq!(
            row(&[Offer {
                capacity: Some(1),
                maximum: None
            }]),
            RowState::Differs
        );
        assert_eq!(
            row(&[Offer {
                capacity: Some(0),
                maximum: Some(1)
            }]),
            RowState::Differs
        );
    }

    #[test]
    fn a_second_object_for_a_row_is_extra() {
        let offer = Offer {
            capacity: Some(5),
            maximum: None,
        };
        let want = Row::Values {
            capacity: Some(5),
            maximum: None,
        };
        let rows = capacity_rows(("c".to_owned(), "n1".to_owned()), Some(&want), &[offer, offer]);
        assert_eq!(
            rows.iter().map(|row| row.state).collect::<Vec<_>>(),
            [RowState::Same, RowState::Extra]
        );
    }

    #[test]
    fn bytes_are_spelled_in_the_largest_exact_unit() {
        for (bytes, text) in [
            (0, "0"),
            (1 << 30, "1Gi"),
            (256_000_000_000, "256G"),
            (1023, "1023"),
            (3000, "3k"),
        ] {
            assert_eq!(spell_bytes(bytes), text);
        }
    }
}
