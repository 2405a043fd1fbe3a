//! Unit tests of the ledger, without a server.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};

use proptest::prelude::*;

use super::{key as key_of, *};
use crate::capacity::desired::{CapacityBytes, ManagedBy, build_object};

fn zone(name: &str) -> Segment {
    [("zone".to_owned(), name.to_owned())].into()
}

fn key(class: &str, segment: &Segment) -> Key {
    key_of(&class.into(), &Arc::new(segment.clone()))
}

fn existing(uid: &str, class: &str, segment: &Segment, version: u64) -> Arc<CSIStorageCapacity> {
    let values = CapacityBytes {
        capacity: version,
        maximum_volume_size: None,
    };
    let mut object = build_object(&ManagedBy::new("d", None), class, segment, values, None);
    object.metadata.uid = Some(uid.to_owned());
    object.metadata.name = Some(uid.to_owned());
    object.metadata.resource_version = Some(version.to_string());
    Arc::new(object)
}

/// A ledger with one class and two zones.
fn ledger() -> Ledger {
    let mut ledger = Ledger::default();
    ledger.set_class("fast", Some(Parameters::default()));
    ledger.add_segment(&zone("a"));
    ledger.add_segment(&zone("b"));
    ledger
}

fn names(ledger: &Ledger, key: &Key) -> Vec<String> {
    ledger
        .key_state(key)
        .objects
        .iter()
        .filter_map(|object| object.metadata.name.clone())
        .collect()
}

#[test]
fn changes_of_classes_and_segments_return_the_affected_keys_once() {
    let mut ledger = ledger();
    assert_eq!(ledger.desired_keys().len(), 2);
    assert_eq!(
        ledger.set_class("fast", Some(Parameters::default())),
        [],
        "nothing changed"
    );
    let other = Some(Arc::new(zone("parameter")));
    assert_eq!(
        ledger.set_class("fast", other.clone()),
        [key("fast", &zone("a")), key("fast", &zone("b"))]
    );
    assert_eq!(ledger.key_state(&key("fast", &zone("a"))).desired, other);
    assert_eq!(ledger.add_segment(&zone("a")), []);
    assert_eq!(ledger.remove_segment(&zone("a")), [key("fast", &zone("a"))]);
    assert_eq!(ledger.key_state(&key("fast", &zone("a"))).desired, None);
    assert_eq!(ledger.set_class("fast", None), [key("fast", &zone("b"))]);
    assert_eq!(ledger.desired_keys(), []);
}

#[test]
fn added_and_deleted_objects_return_their_key() {
    let mut ledger = ledger();
    let a = key("fast", &zone("a"));
    assert_eq!(
        ledger.observe(existing("1", "fast", &zone("a"), 1)),
        Some(a.clone()),
        "the object is adopted"
    );
    assert_eq!(
        ledger.observe(existing("1", "fast", &zone("a"), 2)),
        None,
        "the next refresh handles it"
    );
    assert_eq!(
        ledger.observe(existing("2", "fast", &zone("a"), 3)),
        Some(a.clone()),
        "a duplicate"
    );
    assert_eq!(names(&ledger, &a), ["1", "2"]);
    assert_eq!(ledger.observe_deletion("1"), Some(a));
    let obsolete = ledger.observe(existing("3", "slow", &zone("a"), 4)).unwrap();
    assert_eq!(ledger.key_state(&obsolete).desired, None);
    assert_eq!(ledger.observe_deletion("3"), None, "the key is not desired");
}

#[test]
fn watch_events_of_own_writes_return_no_key() {
    let mut ledger = ledger();
    let a = key("fast", &zone("a"));
    ledger.begin_create(&a);
    assert_eq!(
        ledger.observe(existing("1", "fast", &zone("a"), 1)),
        None,
        "the watch event precedes the response"
    );
    assert!(!ledger.end_create(&a, Some((*existing("1", "fast", &zone("a"), 1)).clone())));
    ledger.begin_delete("1");
    assert_eq!(names(&ledger, &a), Vec::<String>::new());
    assert_eq!(ledger.observe_deletion("1"), None);

    ledger.begin_create(&a);
    ledger.observe(existing("2", "fast", &zone("a"), 2));
    assert!(
        ledger.end_create(&a, Some((*existing("3", "fast", &zone("a"), 3)).clone())),
        "another client's duplicate"
    );
}

#[test]
fn an_older_version_does_not_replace_a_newer_one() {
    let mut ledger = ledger();
    let a = key("fast", &zone("a"));
    ledger.observe(existing("1", "fast", &zone("a"), 5));
    ledger.record_written((*existing("1", "fast", &zone("a"), 7)).clone());
    ledger.observe(existing("1", "fast", &zone("a"), 6));
    assert_eq!(
        ledger.key_state(&a).objects[0]
            .metadata
            .resource_version
            .as_deref(),
        Some("7")
    );
}

#[test]
fn objects_known_only_from_own_writes_are_doubtful_after_a_new_list() {
    let mut ledger = ledger();
    let a = key("fast", &zone("a"));
    ledger.begin_create(&a);
    ledger.end_create(&a, Some((*existing("1", "fast", &zone("a"), 1)).clone()));
    ledger.observe(existing("2", "fast", &zone("b"), 2));
    assert_eq!(ledger.list_completed(), std::slice::from_ref(&a));
    assert!(ledger.key_state(&a).unverified);
    ledger.observe(existing("1", "fast", &zone("a"), 1));
    assert!(!ledger.key_state(&a).unverified);
    assert_eq!(ledger.list_completed(), []);
}

#[test]
fn objects_created_and_deleted_between_watches_are_forgotten_at_the_next_list() {
    let mut ledger = ledger();
    let a = key("fast", &zone("a"));
    ledger.begin_create(&a);
    ledger.end_create(&a, Some((*existing("1", "fast", &zone("a"), 1)).clone()));
    ledger.set_class("fast", None);
    ledger.begin_delete("1");
    assert_eq!(ledger.counts().obsolete, 1);
    assert_eq!(ledger.list_completed(), []);
    assert_eq!(ledger.counts().obsolete, 0);
}

#[test]
fn a_terminating_object_counts_as_deleted() {
    let mut ledger = ledger();
    let a = key("fast", &zone("a"));
    ledger.observe(existing("1", "fast", &zone("a"), 1));
    let mut terminating = (*existing("1", "fast", &zone("a"), 2)).clone();
    terminating.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    assert_eq!(ledger.observe(Arc::new(terminating)), Some(a.clone()));
    assert_eq!(names(&ledger, &a), Vec::<String>::new());
}

#[test]
fn counts_match_desired_keys_and_existing_objects() {
    let mut ledger = ledger();
    let counts = |goal, current, obsolete| Counts {
        goal,
        current,
        obsolete,
    };
    assert_eq!(ledger.counts(), counts(2, 0, 0));
    ledger.observe(existing("1", "fast", &zone("a"), 1));
    ledger.observe(existing("2", "fast", &zone("a"), 2));
    ledger.observe(existing("3", "slow", &zone("a"), 3));
    assert_eq!(
        ledger.counts(),
        counts(2, 1, 2),
        "a duplicate and an object without a class"
    );
    ledger.set_class("fast", None);
    assert_eq!(ledger.counts(), counts(0, 0, 3));
}

#[tokio::test(start_paused = true)]
async fn the_age_counts_from_the_last_get_capacity_response() {
    let mut ledger = ledger();
    ledger.observe(existing("1", "fast", &zone("a"), 1));
    let a = key("fast", &zone("a"));
    tokio::time::advance(Duration::from_secs(5)).await;
    let age = |ledger: &Ledger| ledger.ages(Instant::now());
    assert_eq!(
        age(&ledger),
        [(a.clone(), Duration::from_secs(5))],
        "the driver has not responded yet"
    );
    ledger.record_refresh(&a, Instant::now());
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(age(&ledger), [(a, Duration::from_secs(2))]);
}

/// external-provisioner compares every object with every key at startup and at each scrape, which would not finish for this number of
/// objects.
#[test]
fn a_ledger_with_many_objects_is_processed_in_linear_time() {
    const OBJECTS: usize = 10_000;
    let mut ledger = Ledger::default();
    ledger.set_class("fast", Some(Parameters::default()));
    for number in 0..OBJECTS {
        let segment = zone(&number.to_string());
        ledger.add_segment(&segment);
        let object = existing(&number.to_string(), "fast", &segment, 1);
        assert_eq!(ledger.observe(object), Some(key("fast", &segment)));
    }
    for _ in 0..20 {
        let counts = ledger.counts();
        assert_eq!(
            (counts.goal, counts.current, counts.obsolete),
            (OBJECTS, OBJECTS, 0)
        );
        assert_eq!(ledger.ages(Instant::now()).len(), OBJECTS);
    }
}

proptest! {
    /// After any sequence of changes, the desired keys are the product of the remaining classes and segments, and objects with other keys
    /// are still stored.
    #[test]
    fn desired_keys_are_the_product_of_classes_and_segments(changes in prop::collection::vec((0..2u8, 0..4usize, any::<bool>()), 0..40)) {
        let mut ledger = Ledger::default();
        let (mut classes, mut segments) = (BTreeSet::new(), BTreeSet::new());
        let all: Vec<(String, Segment)> = (0..16).map(|n| (format!("c{}", n / 4), zone(&format!("z{}", n % 4)))).collect();
        for (number, (class, segment)) in all.iter().enumerate() {
            ledger.observe(existing(&number.to_string(), class, segment, 1));
        }
        for (what, which, is_added) in changes {
            let (class, segment) = (format!("c{which}"), zone(&format!("z{which}")));
            let affected = match (what, is_added) {
                (0, true) => { classes.insert(class.clone()); ledger.set_class(&class, Some(Parameters::default())) }
                (0, false) => { classes.remove(&class); ledger.set_class(&class, None) }
                (_, true) => { segments.insert(segment.clone()); ledger.add_segment(&segment) }
                (_, false) => { segments.remove(&segment); ledger.remove_segment(&segment) }
            };
            for key in &affected {
                prop_assert!(*key.class == *class || key.topology == KeyTopology::Segment(Arc::new(segment.clone())));
            }
        }
        let desired: BTreeSet<Key> = ledger.desired_keys().into_iter().collect();
        let expected: BTreeSet<Key> = classes.iter().flat_map(|class| segments.iter().map(move |segment| key(class, segment))).collect();
        prop_assert_eq!(&desired, &expected);
        for (class, segment) in &all {
            let key = key(class, segment);
            let state = ledger.key_state(&key);
            prop_assert_eq!(state.objects.len(), 1);
            prop_assert_eq!(state.desired.is_some(), expected.contains(&key));
        }
        let counts = ledger.counts();
        prop_assert_eq!((counts.goal, counts.current, counts.obsolete), (expected.len(), expected.len(), 16 - expected.len()));
    }
}

#[test]
fn desired_keys_are_filtered_by_class_and_segment() {
    let mut ledger = ledger();
    ledger.set_class("slow", Some(Parameters::default()));
    let count = |found: Vec<Key>| found.len();
    assert_eq!(
        ledger.desired_keys_where(|class| class == "slow", |segment| *segment == zone("b")),
        [key("slow", &zone("b"))]
    );
    assert_eq!(
        count(ledger.desired_keys_where(|_| true, |segment| *segment == zone("a"))),
        2
    );
    assert_eq!(
        count(ledger.desired_keys_where(|class| class == "gone", |_| true)),
        0
    );
}

#[test]
fn an_object_that_does_not_exist_on_the_server_is_forgotten() {
    let mut ledger = ledger();
    let a = key("fast", &zone("a"));
    ledger.observe(existing("1", "fast", &zone("a"), 1));
    assert_eq!(
        (names(&ledger, &a), ledger.counts().current),
        (vec!["1".to_owned()], 1)
    );
    ledger.forget("1");
    assert_eq!((names(&ledger, &a), ledger.counts().current), (Vec::new(), 0));
}
