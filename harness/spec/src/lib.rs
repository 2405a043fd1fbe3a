//! What the documents demand of storage-capacity tracking (KEP-1472), capacity scoring (KEP-4049) and CSI, as pure functions.
//!
//! ```text
//! world      what there is: nodes, drivers, classes, objects, claims, pods, and how the programs are set
//! objects    world → the CSIStorageCapacity objects that must, may and must not be there once everything is quiet
//! placement  world → the nodes that a pod may go to, the best of them, and why the others are excluded
//! volumes    world and what drivers have made → the volumes that claims must have, and those that must be gone
//! metrics    world and what programs have done → what their metrics say
//! always     world and history → what must hold at every moment
//! settings   with which a program must not go on
//! rules      every rule with the requirements that it comes from; a violation names one
//! ```
//!
//! Deliberately absent: clocks, input and output, tasks, and code of any publisher or scheduler. A rule is written down from the
//! documents; where they leave a choice, all of its outcomes are allowed, under a [`rules::Question`]. The requirement ids are those of
//! `suites/requirements.yaml`.
//!
//! A world is made of what the API server sends, object by object, and of what is known of drivers and programs besides:
//!
//! ```
//! use capacity_spec::world::{Answer, Change, Instance, Publisher};
//! use capacity_spec::{World, objects, rules};
//! use capacity_types::segment;
//! use serde_json::json;
//!
//! let driver = "disk.example.com";
//! let mut world = World::default();
//! for (resource, object) in [
//!     ("nodes", json!({"metadata": {"name": "n1", "labels": {"host": "n1"}}})),
//!     ("csinodes", json!({"metadata": {"name": "n1"}, "spec": {"drivers": [{"name": driver, "topologyKeys": ["host"]}]}})),
//!     ("storageclasses", json!({
//!         "metadata": {"name": "fast"}, "provisioner": driver, "volumeBindingMode": "WaitForFirstConsumer",
//!     })),
//! ] {
//!     let change = Change::set(resource, object).expect("these are objects of their resource");
//!     world.apply(change.expect("rules speak of them"));
//! }
//! let n1 = segment::parse("host=n1").expect("it is key=value");
//! world.apply(Change::Answer(driver.to_owned(), n1, [].into(), Answer::available(1 << 30)));
//! let instance = Instance { driver: driver.to_owned(), node: None };
//! let publisher = Publisher { namespace: "csi".to_owned(), ..Publisher::default() };
//! world.apply(Change::Publisher(instance, Some(publisher)));
//!
//! // Nothing is published yet.
//! let violations = objects::judge(&world, &world.objects);
//! assert_eq!(violations[0].rule, rules::MISSING);
//! // And this is what should be.
//! let stored = objects::settled(&world);
//! assert!(objects::judge(&world, &stored).is_empty());
//! ```

pub mod always;
pub mod metrics;
pub mod objects;
pub mod placement;
pub mod rules;
pub mod settings;
pub mod violation;
pub mod volumes;
pub mod world;

pub use rules::{Question, RULES, Rule};
pub use violation::{Subject, Violation};
pub use world::World;
