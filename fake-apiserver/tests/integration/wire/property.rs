//! Random writes in random order: lists, watches and pages return the state of a model that applies the same writes.

use super::client::{CONFIG_MAPS, TestServer, TestWatch};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A step of the property test: a write, or the start of a reader.
#[derive(Clone, Debug)]
enum Step {
    Put { name: u8, value: u8 },
    Label { name: u8, on: bool },
    Delete { name: u8 },
    Read(ReaderOptions),
}

#[derive(Clone, Copy, Debug)]
struct ReaderOptions {
    selector: Selector,
    /// Page size of the list; None for a streaming list.
    page: Option<u8>,
    /// Whether the reader watches from the start, so that events are queued. Otherwise it watches only at the end, and events come from the
    /// watch history.
    live: bool,
    /// Number of events after which the reader closes its watch and resumes it.
    patience: usize,
}

/// The selector of a reader; the model evaluates it independently of the server.
#[derive(Clone, Copy, Debug)]
enum Selector {
    All,
    On,
    NotOn,
    Named,
    NotNamed,
}

/// The model of the server's state: data and label of each object, by object name.
type Model = BTreeMap<String, (Option<u8>, Option<bool>)>;
type State = BTreeMap<String, Value>;

impl Selector {
    fn query(self) -> &'static str {
        match self {
            Self::All => "",
            Self::On => "&labelSelector=on%3Dtrue",
            Self::NotOn => "&labelSelector=on%20notin%20(true)",
            Self::Named => "&fieldSelector=metadata.name%3Dm9",
            Self::NotNamed => "&fieldSelector=metadata.name!%3Dm2",
        }
    }

    fn select(self, model: &Model) -> Model {
        let matches = |name: &str, on: Option<bool>| match self {
            Self::All => true,
            Self::On => on == Some(true),
            Self::NotOn => on != Some(true),
            Self::Named => name == "m9",
            Self::NotNamed => name != "m2",
        };
        let entries = model.iter().filter(|(name, (_, on))| matches(name, *on));
        entries.map(|(name, entry)| (name.clone(), *entry)).collect()
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let selector = prop::sample::select(vec![
        Selector::All,
        Selector::On,
        Selector::NotOn,
        Selector::Named,
        Selector::NotNamed,
    ]);
    let reading = (selector, prop::option::of(1..4_u8), any::<bool>(), 1..6_usize);
    let reading = reading.prop_map(|(selector, page, live, patience)| ReaderOptions {
        selector,
        page,
        live,
        patience,
    });
    let step = prop_oneof![
        4 => (0..5_u8, 0..4_u8).prop_map(|(name, value)| Step::Put { name, value }),
        3 => (0..5_u8, any::<bool>()).prop_map(|(name, on)| Step::Label { name, on }),
        3 => (0..5_u8).prop_map(|name| Step::Delete { name }),
        2 => reading.prop_map(Step::Read),
    ];
    prop::collection::vec(step, 1..40)
}

#[test]
fn all_ways_of_reading_agree_with_a_model() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let ran = runner.run(&steps(), |steps| {
        runtime.block_on(check(&steps));
        Ok(())
    });
    ran.unwrap();
}

/// The server under test and the model of its state; both receive the same writes.
struct ServerAndModel {
    wire: TestServer,
    model: Model,
    /// The state of the model after each write that increased the revision, with that revision.
    past: Vec<(u64, Model)>,
}

/// A reader of the property test: the objects that it knows, and the revision from which it resumes.
struct Reader {
    reading: ReaderOptions,
    state: State,
    /// The watch path without resourceVersion.
    path: String,
    /// Revision from which the reader resumes. None for a streaming list until its first bookmark.
    revision: Option<String>,
    watch: Option<TestWatch>,
}

async fn check(steps: &[Step]) {
    let mut world = ServerAndModel {
        wire: TestServer::start().await,
        model: Model::new(),
        past: Vec::new(),
    };
    let mut readers = Vec::new();
    for step in steps {
        match step {
            Step::Read(reading) => readers.push(Reader::begin(&mut world, *reading).await),
            step => world.write(step).await,
        }
    }
    // The last two writes produce an event for every reader, so that all readers reach the last revision.
    for on in [true, false] {
        world.write(&Step::Label { name: 9, on }).await;
    }
    let end = world.wire.server.revision();
    for reader in &mut readers {
        reader.follow_to(&world.wire, end).await;
        let selector = reader.reading.selector;
        assert_eq!(
            to_model(&reader.state),
            selector.select(&world.model),
            "{:?}",
            reader.reading
        );
        let path = format!("{CONFIG_MAPS}?{}", selector.query());
        assert_eq!(
            reader.state,
            items_by_name(&world.wire.get(&path).await.body),
            "{:?}",
            reader.reading
        );
    }
    world.check_past(end).await;
}

impl ServerAndModel {
    async fn write(&mut self, step: &Step) {
        let number = match step {
            Step::Put { name, .. } | Step::Label { name, .. } | Step::Delete { name } => name,
            Step::Read(_) => return,
        };
        let name = format!("m{number}");
        let path = format!("{CONFIG_MAPS}/{name}");
        let mut change = match step {
            Step::Put { value, .. } => json!({"data": {"v": value.to_string()}}),
            Step::Label { on, .. } => json!({"metadata": {"labels": {"on": on.to_string()}}}),
            Step::Delete { .. } | Step::Read(_) => Value::Null,
        };
        if change.is_null() {
            self.wire.delete(&path).await;
            self.model.remove(&name);
        } else {
            if self.wire.merge(&path, change.clone()).await.code == 404 {
                change["metadata"]["name"] = name.as_str().into();
                self.wire.create(CONFIG_MAPS, change).await;
            }
            let entry = self.model.entry(name).or_default();
            match step {
                Step::Put { value, .. } => entry.0 = Some(*value),
                Step::Label { on, .. } => entry.1 = Some(*on),
                Step::Delete { .. } | Step::Read(_) => {}
            }
        }
        let revision = self.wire.server.revision();
        if self.past.last().is_none_or(|(last, _)| *last < revision) {
            self.past.push((revision, self.model.clone()));
        }
    }

    /// A list at any past revision must return the model at that revision, and a watch from that revision must lead to the final state.
    async fn check_past(&self, end: u64) {
        for (revision, model) in &self.past {
            let exact = format!("{CONFIG_MAPS}?resourceVersion={revision}&resourceVersionMatch=Exact");
            let mut state = items_by_name(&self.wire.get(&exact).await.body);
            assert_eq!(to_model(&state), *model, "the state at {revision}");
            let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={revision}");
            let mut watch = self.wire.watch(&path).await;
            let mut at = *revision;
            while at < end {
                let event = watch.next().await.expect("the watch has not ended");
                apply_event(&mut state, &event);
                let next = revision_of(&event).parse().expect("a number");
                assert!(next > at, "events are in order: {event}");
                at = next;
            }
            assert_eq!(to_model(&state), self.model, "from {revision} on");
        }
    }
}

impl Reader {
    async fn begin(world: &mut ServerAndModel, reading: ReaderOptions) -> Self {
        let query = reading.selector.query();
        let mut reader = Self {
            reading,
            state: State::new(),
            path: format!("{CONFIG_MAPS}?watch=1{query}"),
            revision: None,
            watch: None,
        };
        if let Some(limit) = reading.page {
            reader.list(world, limit).await;
        }
        if reading.live {
            reader.watch = Some(reader.open(&world.wire).await);
        }
        reader
    }

    /// Lists objects page by page, with a write between pages.
    async fn list(&mut self, world: &mut ServerAndModel, limit: u8) {
        let query = self.reading.selector.query();
        let before = self.reading.selector.select(&world.model);
        let first = format!("{CONFIG_MAPS}?limit={limit}{query}");
        let mut page = world.wire.get(&first).await.body;
        self.revision = page["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        loop {
            let objects = items_by_name(&page);
            assert!(objects.len() <= usize::from(limit), "a page is too long: {page}");
            self.state.extend(objects);
            let Some(token) = page["metadata"]["continue"].as_str() else {
                break;
            };
            let next = format!("{CONFIG_MAPS}?limit={limit}&continue={token}{query}");
            let value = self.state.len() as u8;
            world.write(&Step::Put { name: 8, value }).await;
            world.write(&Step::Delete { name: value % 5 }).await;
            page = world.wire.get(&next).await.body;
        }
        assert_eq!(to_model(&self.state), before, "all pages are of one revision");
    }

    async fn open(&self, wire: &TestServer) -> TestWatch {
        let start = match &self.revision {
            Some(revision) => format!("&resourceVersion={revision}"),
            None => "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
                .to_owned(),
        };
        wire.watch(&format!("{}{start}", self.path)).await
    }

    /// Reads events up to the revision `end`, and resumes the watch in between.
    async fn follow_to(&mut self, wire: &TestServer, end: u64) {
        let end = end.to_string();
        while self.revision.as_ref() != Some(&end) {
            let mut watch = match self.watch.take() {
                Some(watch) => watch,
                None => self.open(wire).await,
            };
            // A streaming list is read to its end: before the bookmark there is no revision from which to resume.
            let mut left = self.reading.patience;
            while left > 0 && self.revision.as_ref() != Some(&end) {
                let event = watch.next().await.expect("the watch has not ended");
                let is_mark = event["type"] == "BOOKMARK";
                if !is_mark {
                    apply_event(&mut self.state, &event);
                }
                if is_mark || self.revision.is_some() {
                    self.revision = Some(revision_of(&event));
                    left -= 1;
                }
            }
        }
    }
}

fn revision_of(event: &Value) -> String {
    let revision = event["object"]["metadata"]["resourceVersion"].as_str();
    revision.expect("objects have a resourceVersion").to_owned()
}

fn name_of(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str();
    name.expect("objects have names").to_owned()
}

fn items_by_name(list: &Value) -> State {
    let items = list["items"].as_array().expect("the response is a list");
    items.iter().map(|item| (name_of(item), item.clone())).collect()
}

fn to_model(state: &State) -> Model {
    let read = |object: &Value| {
        let value = object["data"]["v"]
            .as_str()
            .map(|text| text.parse().expect("the data is a number"));
        let on = object["metadata"]["labels"]["on"]
            .as_str()
            .map(|text| text == "true");
        (value, on)
    };
    state
        .iter()
        .map(|(name, object)| (name.clone(), read(object)))
        .collect()
}

fn apply_event(state: &mut State, event: &Value) {
    let mut object = event["object"].clone();
    let name = name_of(&object);
    // List items have no `apiVersion` and `kind`, so both are removed from objects of events.
    object
        .as_object_mut()
        .expect("events contain an object")
        .retain(|key, _| key != "kind" && key != "apiVersion");
    match event["type"].as_str().unwrap_or_default() {
        "ADDED" => assert!(state.insert(name, object).is_none(), "added twice: {event}"),
        "MODIFIED" => assert!(
            state.insert(name, object).is_some(),
            "modified before it was added: {event}"
        ),
        "DELETED" => assert!(
            state.remove(&name).is_some(),
            "deleted before it was added: {event}"
        ),
        other => panic!("{other}: {event}"),
    }
}
