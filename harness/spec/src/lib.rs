//! The requirements of storage capacity tracking (KEP-1472), capacity scoring (KEP-4049) and the CSI spec, as pure functions.
//!
//! ```text
//! world      state of the cluster: nodes, drivers, classes, objects, PVCs, pods, and the settings of the programs
//! objects    world → the CSIStorageCapacity objects that must, may and must not exist at quiescence
//! placement  world → the feasible nodes of a pod, the best of them, and why other nodes are rejected
//! volumes    world and CreateVolume calls → the volumes that PVCs must have, and those that must be deleted
//! metrics    world and the programs' actions → required metric values
//! always     world and events → rules for every moment
//! settings   settings with which a program must exit
//! rules      every rule with its requirement ids; a violation refers to one
//! ```
//!
//! Does not know clocks, I/O, tasks, or code of any publisher or scheduler. Rules follow the KEPs and the CSI spec. If these do not specify
//! an outcome, all outcomes are allowed, with a [`rules::Unspecified`] as the reason. Requirement ids are those of
//! `suites/requirements.yaml`. "Quiescence" means: no request in flight, every watch up to date, capacity polled since the last change.
//!
//! A world is built from API objects, and from the known state of drivers and programs:
//!
//! ```
//! use capacity_spec::world::{CapacityResponse, Change, Instance, Publisher};
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
//!     let change = Change::of_object(resource, object).expect("the object is valid for its resource");
//!     world.apply(change.expect("rules use these resources"));
//! }
//! let n1 = segment::parse("host=n1").expect("the segment is key=value");
//! world.apply(Change::CapacityResponse(driver.to_owned(), n1, [].into(), CapacityResponse::available(1 << 30)));
//! let instance = Instance { driver: driver.to_owned(), node: None };
//! let publisher = Publisher { namespace: "csi".to_owned(), ..Publisher::default() };
//! world.apply(Change::Publisher(instance, Some(publisher)));
//!
//! // No object is published yet: the rule `MISSING` is violated.
//! let violations = objects::judge(&world, &world.objects);
//! assert_eq!(violations[0].rule, rules::MISSING);
//! // The objects that should exist violate no rule.
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

pub use rules::{RULES, Rule, Unspecified};
pub use violation::{Subject, Violation};
pub use world::World;
