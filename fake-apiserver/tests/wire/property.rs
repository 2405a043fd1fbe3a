//! Whatever is written in whatever order: every way of reading ends with the same state.

use crate::client::{CONFIG_MAPS, Watching, Wire};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One write, or a reader beginning.
#[derive(Clone, Debug)]
enum Step {
    Put {
        name: u8,
        value: u8,
    },
    Label {
        name: u8,
        on: bool,
    },
    Delete {
        name: u8,
    },
    /// A reader lists here and watches from there.
    List,
    /// A reader asks for a streamed list here.
    Stream,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..5_u8, 0..4_u8).prop_map(|(name, value)| Step::Put { name, value }),
        3 => (0..5_u8, any::<bool>()).prop_map(|(name, on)| Step::Label { name, on }),
        3 => (0..5_u8).prop_map(|name| Step::Delete { name }),
        1 => Just(Step::List),
        1 => Just(Step::Stream),
    ];
    prop::collection::vec(step, 1..40)
}

type State = BTreeMap<String, Value>;

#[test]
fn all_ways_of_reading_agree() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&steps(), |steps| {
            runtime.block_on(check(&steps));
            Ok(())
        })
        .unwrap();
}

/// A reader: what it knows so far, and the watch that it goes on with.
struct Reader {
    selector: &'static str,
    state: State,
    path: String,
    /// Open from the start, so that events queue up; otherwise opened at the end, so that they come from the log.
    watch: Option<Watching>,
}

async fn check(steps: &[Step]) {
    let wire = Wire::start().await;
    let mut readers = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let selector = if number % 2 == 0 {
            ""
        } else {
            "&labelSelector=on%3Dtrue"
        };
        let mut reader = match step {
            Step::List => list_in_pages(&wire, selector).await,
            Step::Stream => {
                let options =
                    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
                let path = format!("{CONFIG_MAPS}?watch=1&{options}{selector}");
                Reader {
                    selector,
                    state: State::new(),
                    path,
                    watch: None,
                }
            }
            step => {
                write(&wire, step).await;
                continue;
            }
        };
        if number % 3 > 0 {
            reader.watch = Some(wire.watch(&reader.path).await);
        }
        readers.push(reader);
    }
    // The last write, of the last name, ends every reader's story.
    write(&wire, &Step::Label { name: 9, on: true }).await;
    for Reader {
        selector,
        mut state,
        path,
        watch,
    } in readers
    {
        let mut watch = match watch {
            Some(watch) => watch,
            None => wire.watch(&path).await,
        };
        while state
            .get("m9")
            .is_none_or(|object| object["metadata"]["labels"]["on"] != "true")
        {
            follow(&mut state, &watch.next().await.expect("the watch goes on"));
        }
        let mut truth = State::new();
        take_page(
            &mut truth,
            &wire.get(&format!("{CONFIG_MAPS}?{selector}")).await.body,
        );
        assert_eq!(state, truth, "{path}");
    }
}

/// Lists two at a time, with a write between the pages.
async fn list_in_pages(wire: &Wire, selector: &'static str) -> Reader {
    let mut state = State::new();
    let mut page = wire.get(&format!("{CONFIG_MAPS}?limit=2{selector}")).await.body;
    let revision = page["metadata"]["resourceVersion"]
        .as_str()
        .expect("a list has one")
        .to_owned();
    take_page(&mut state, &page);
    while let Some(token) = page["metadata"]["continue"].as_str() {
        let token = token.to_owned();
        write(
            wire,
            &Step::Put {
                name: 8,
                value: state.len() as u8,
            },
        )
        .await;
        page = wire
            .get(&format!("{CONFIG_MAPS}?limit=2&continue={token}{selector}"))
            .await
            .body;
        take_page(&mut state, &page);
    }
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={revision}{selector}");
    Reader {
        selector,
        state,
        path,
        watch: None,
    }
}

async fn write(wire: &Wire, step: &Step) {
    let change = |name: &u8, change: Value| (format!("m{name}"), change);
    let (name, change) = match step {
        Step::Put { name, value } => change(name, json!({"data": {"v": value.to_string()}})),
        Step::Label { name, on } => change(name, json!({"metadata": {"labels": {"on": on.to_string()}}})),
        Step::Delete { name } => {
            wire.delete(&format!("{CONFIG_MAPS}/m{name}")).await;
            return;
        }
        Step::List | Step::Stream => return,
    };
    if wire
        .merge(&format!("{CONFIG_MAPS}/{name}"), change.clone())
        .await
        .code
        == 404
    {
        let mut object = change;
        object["metadata"]["name"] = name.into();
        wire.create(CONFIG_MAPS, object).await;
    }
}

fn take_page(state: &mut State, list: &Value) {
    for item in list["items"].as_array().into_iter().flatten() {
        state.insert(
            item["metadata"]["name"]
                .as_str()
                .expect("objects have names")
                .to_owned(),
            item.clone(),
        );
    }
}

fn follow(state: &mut State, event: &Value) {
    let mut object = event["object"].clone();
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    // Items of lists carry no type.
    object
        .as_object_mut()
        .expect("events hold objects")
        .retain(|key, _| key != "kind" && key != "apiVersion");
    match event["type"].as_str().unwrap_or_default() {
        "ADDED" => assert!(state.insert(name, object).is_none(), "added twice: {event}"),
        "MODIFIED" => assert!(
            state.insert(name, object).is_some(),
            "changed before it was there: {event}"
        ),
        "DELETED" => assert!(
            state.remove(&name).is_some(),
            "deleted before it was there: {event}"
        ),
        "BOOKMARK" => {}
        other => panic!("{other}: {event}"),
    }
}
