//! Concurrent publishers that write to one shared object, or each to its own object.

use super::model::{CsiDriver, Metadata, NamedPool};
use super::rules::{DesignRules, Write};
use super::server;
use crate::study::result::{Finding, Table, findings};

/// Number of publishers, each on its own node.
const WRITERS: usize = 100;

/// Counts of concurrent writes.
#[derive(Debug, Default)]
struct Written {
    requests: usize,
    conflicts: usize,
    pools: usize,
}

/// Whether all publishers write to one object, or each to its own object.
#[derive(Clone, Copy, PartialEq)]
enum Sharing {
    One,
    Each,
}

/// Compares three variants: a shared object with patches, a shared object with full updates, and one object per publisher.
pub(super) fn study(rules: &DesignRules) -> (Table, Vec<Finding>) {
    let columns = ["design", "requests", "conflicts", "pools in the end"];
    let mut table = Table::new(format!("{WRITERS} publishers that write at once"), &columns);
    let patched = write_concurrently(rules, Sharing::One, rules.writes);
    for (name, sharing, write) in [
        ("CSIDriver.status, PATCH of a pool", Sharing::One, Write::Patch),
        ("CSIDriver.status, GET and PUT", Sharing::One, Write::Put),
        ("an object each, GET and PUT", Sharing::Each, Write::Put),
    ] {
        let written = write_concurrently(rules, sharing, write);
        table.row([
            name.into(),
            written.requests.into(),
            written.conflicts.into(),
            written.pools.into(),
        ]);
    }
    let findings = findings![
        none "ALT-03", format!("conflicts of {WRITERS} writers of one status"), patched.conflicts;
        none "ALT-03", "pools lost in concurrent writes", WRITERS.abs_diff(patched.pools);
    ];
    (table, findings)
}

fn pool(writer: usize) -> NamedPool {
    let name = format!("node-{writer}");
    NamedPool {
        node_list: Some(vec![name.clone()]),
        name,
        node_topology: None,
        classes: Vec::new(),
    }
}

fn driver() -> CsiDriver {
    CsiDriver {
        metadata: Metadata::named("disk.example.com"),
        ..CsiDriver::default()
    }
}

/// All publishers read the object, then all write. With full updates, the first write changes the resourceVersion, so the other writes fail
/// with conflicts and are retried.
fn write_concurrently(rules: &DesignRules, sharing: Sharing, write: Write) -> Written {
    let object_of = |writer: usize| if sharing == Sharing::One { 0 } else { writer };
    let mut objects = vec![(0, driver()); WRITERS];
    let mut written = Written::default();
    let mut waiting: Vec<usize> = (0..WRITERS).collect();
    while !waiting.is_empty() {
        let read = objects.clone();
        let mut again = Vec::new();
        for writer in waiting {
            let (version, stored) = &mut objects[object_of(writer)];
            written.requests += 1;
            match write {
                Write::Patch => server::patch(rules, stored, &[pool(writer)]),
                Write::Put => {
                    written.requests += 1;
                    let (seen, copy) = &read[object_of(writer)];
                    if seen != version {
                        written.conflicts += 1;
                        again.push(writer);
                        continue;
                    }
                    *stored = copy.clone();
                    stored.status.storage.push(pool(writer));
                }
            }
            *version += 1;
        }
        waiting = again;
    }
    written.pools = objects
        .iter()
        .map(|(_, driver)| driver.status.storage.len())
        .sum();
    written
}
