//! Objects that others refer to are deleted, and created again under the same name, while a program writes what refers to them.

use super::super::event::{CapacityEvent, ClassEvent, CsiDriverEvent, Event, Fault, FaultEffect, NodeEvent};
use super::super::world::{Node, Pool};
use super::{Draw, cluster, objects, places, storage, trouble};

/// Writes of a program after which one can be held up, at most.
const WRITES: u32 = 4;

/// A write is held up, something leads to it, and meanwhile an object is deleted; mostly it is created again, with other contents.
pub(super) fn events(draw: &mut Draw) -> Vec<Event> {
    let mut drawn: Vec<Event> = Vec::new();
    drawn.extend(held(draw));
    drawn.extend(draw.segments().into_iter().map(|segment| changed(draw, segment)));
    let Some((deleted, created)) = pair(draw) else {
        return Vec::new();
    };
    drawn.push(deleted);
    drawn.extend((!draw.dice.one_in(4)).then_some(created));
    drawn
        .into_iter()
        .filter_map(|event| draw.admitted(event))
        .collect()
}

/// One of the next writes of a program takes time.
fn held(draw: &mut Draw) -> Option<Event> {
    let (role, api) = trouble::write(draw)?;
    let (id, skip) = (draw.name('f'), draw.dice.below(WRITES));
    Some(Event::Fault(Fault {
        id,
        api: api.to_owned(),
        by: Some(role),
        skip,
        times: Some(1),
        effect: FaultEffect::Delay("50ms".to_owned()),
        kill: false,
    }))
}

/// Storage changes everywhere, so that everything is written.
fn changed(draw: &mut Draw, segment: String) -> Event {
    let pool: Pool = storage::pool(&mut draw.dice);
    Event::Backend([(segment, Some(pool))].into())
}

/// The deletion of an object, and its creation under the same name; none: there is no such object.
fn pair(draw: &mut Draw) -> Option<(Event, Event)> {
    match draw.dice.below(6) {
        0..=1 => {
            let name = draw.class()?;
            let class = storage::class(&mut draw.dice, &draw.world.driver, &name);
            let deleted = ClassEvent::Delete(name);
            Some((Event::Class(deleted), Event::Class(ClassEvent::Create(class))))
        }
        2 => {
            let name = draw.node()?;
            let node: Node = cluster::node(&mut draw.dice, &draw.world.driver, &name);
            let deleted = NodeEvent::Leave(name);
            Some((Event::Node(deleted), Event::Node(NodeEvent::Join(node))))
        }
        3 => {
            let name = draw.node()?;
            let created = NodeEvent::Register(name.clone());
            Some((Event::Node(NodeEvent::Unregister(name)), Event::Node(created)))
        }
        4 => Some((
            Event::CsiDriver(CsiDriverEvent::Delete),
            Event::CsiDriver(CsiDriverEvent::Create(Some(true))),
        )),
        _ => {
            let (class, segment) = (draw.class()?, draw.segment());
            let created = objects::at(draw, &class, &segment);
            let deleted = CapacityEvent::Delete { class, segment };
            Some((
                Event::Capacity(deleted),
                Event::Capacity(CapacityEvent::Create(created)),
            ))
        }
    }
}

impl Draw {
    /// The segments of all nodes.
    fn segments(&self) -> Vec<String> {
        let segments = places::segments(self.state.nodes.values(), &self.world.driver);
        segments.into_iter().collect()
    }
}
