//! The object that must, or may, be published for a class and segment.

use std::collections::BTreeSet;

use capacity_types::Segment;

use crate::rules::Question;
use crate::world::{
    Answer, Binding, Deployment, Driver, Figures, Instance, Parameters, Publisher, StorageClass, World,
};

/// The object that must be published for a class and segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// One object with these values.
    Present(Figures),
    /// One object with these values, or with those that it had before.
    Stale(Figures),
    /// One object with one of these values or none, or no object. The choice is open.
    Optional {
        /// The allowed values.
        figures: BTreeSet<Figures>,
        /// Whether the object may be unchanged.
        as_before: bool,
        /// Why the choice is open.
        question: Question,
    },
}

impl Demand {
    /// Why the choice is open. `None` if there is no choice.
    pub fn question(&self) -> Option<Question> {
        match self {
            Demand::Present(_) => None,
            Demand::Stale(_) => Some(Question::WithoutPolling),
            Demand::Optional { question, .. } => Some(*question),
        }
    }
}

/// A demand with its class and segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demanded<'w> {
    /// The class.
    pub class: &'w str,
    /// The segment.
    pub segment: &'w Segment,
    /// The demand.
    pub demand: Demand,
}

/// The objects that one publisher must publish.
pub struct Wanted<'w> {
    world: &'w World,
    publisher: &'w Publisher,
    /// StorageClasses of the driver, sorted by name.
    classes: Vec<(&'w str, &'w StorageClass)>,
    segments: BTreeSet<Segment>,
    /// The driver plugin. `None`: unknown, so it returns no responses.
    driver: Option<&'w Driver>,
}

impl<'w> Wanted<'w> {
    /// For a publisher of this world.
    pub fn of(world: &'w World, instance: &'w Instance, publisher: &'w Publisher) -> Self {
        let classes = world.classes.iter();
        let own = classes.filter(|(_, class)| class.provisioner == instance.driver);
        Self {
            world,
            publisher,
            classes: own.map(|(name, class)| (name.as_str(), class)).collect(),
            segments: segments(world, instance, publisher),
            driver: world.drivers.get(&instance.driver),
        }
    }

    /// Whether the driver lacks GET_CAPACITY, so that nothing is published.
    pub fn is_mute(&self) -> bool {
        self.driver.is_some_and(|driver| !driver.get_capacity)
    }

    /// Whether an object for a class and segment may exist at all.
    pub fn has(&self, class: &str, segment: &Segment) -> bool {
        self.class(class).is_some() && self.segments.contains(segment)
    }

    /// The segments for which it publishes.
    pub fn segments(&self) -> &BTreeSet<Segment> {
        &self.segments
    }

    /// A StorageClass of its driver.
    pub fn class(&self, name: &str) -> Option<&'w StorageClass> {
        let at = self.classes.binary_search_by_key(&name, |(own, _)| own).ok()?;
        Some(self.classes[at].1)
    }

    /// All demands, sorted by class and segment.
    pub fn demands(&self) -> impl Iterator<Item = Demanded<'_>> {
        self.classes.iter().flat_map(move |(name, class)| {
            let parameters = class.driver_parameters();
            self.segments.iter().map(move |segment| Demanded {
                class: name,
                segment,
                demand: self.demand(class, segment, self.answer(segment, &parameters)),
            })
        })
    }

    /// The demand for a class and segment. `None`: no object may exist.
    pub fn demand_for(&self, class: &str, segment: &Segment) -> Option<Demand> {
        let class = self.class(class).filter(|_| self.segments.contains(segment))?;
        let answer = self.answer(segment, &class.driver_parameters());
        Some(self.demand(class, segment, answer))
    }

    /// Whether the object may be absent. While GetCapacity fails, a publisher that does not withdraw objects must retain it.
    pub(crate) fn may_lack(&self, class: &str, segment: &Segment) -> bool {
        let keeps = !self.publisher.withdraws && self.answering().is_some();
        let is_open = |class| self.may_be_left_out(class, segment).is_some();
        match self.demand_for(class, segment) {
            None => true,
            Some(Demand::Present(_) | Demand::Stale(_)) => false,
            Some(demand) if demand.question() == Some(Question::KeepOrWithdraw) => {
                !keeps || self.class(class).is_none_or(is_open)
            }
            Some(Demand::Optional { .. }) => true,
        }
    }

    fn answer(&self, segment: &Segment, parameters: &Parameters) -> Option<&'w Answer> {
        Some(self.answering()?.answer(segment, parameters))
    }

    /// The driver plugin, if GetCapacity may be called.
    fn answering(&self) -> Option<&'w Driver> {
        self.driver.filter(|driver| driver.get_capacity)
    }

    fn demand(&self, class: &StorageClass, segment: &Segment, answer: Option<&Answer>) -> Demand {
        let has_maximum = self.world.api.release.has_maximum();
        let untold = |figures: BTreeSet<Figures>, is_kept: bool| Demand::Optional {
            figures: if is_kept { figures } else { BTreeSet::new() },
            as_before: is_kept,
            question: Question::KeepOrWithdraw,
        };
        // A publisher without polling may not have noticed the error.
        let is_kept = !self.publisher.withdraws || !self.publisher.polls;
        let figures = match answer {
            // CSI: GetCapacity must not be called on a driver without GET_CAPACITY.
            None => return untold(BTreeSet::new(), true),
            Some(Answer::Error { before }) => {
                let sound = before.iter().filter(|figures| figures.is_sound());
                // The earlier object may have been written to a server that dropped the maximum.
                let kept = |figures: &Figures| [figures.kept(false), figures.kept(has_maximum)];
                return untold(sound.flat_map(kept).collect(), is_kept);
            }
            Some(Answer::Figures(figures)) if !figures.is_sound() => return untold(BTreeSet::new(), is_kept),
            Some(Answer::Figures(figures)) => figures.kept(has_maximum),
        };
        match self.question(class, segment, figures) {
            Some(question) => Demand::Optional {
                figures: BTreeSet::from([figures]),
                as_before: !self.publisher.polls,
                question,
            },
            None if !self.publisher.polls => Demand::Stale(figures),
            None => Demand::Present(figures),
        }
    }

    /// Why an object is optional.
    fn question(&self, class: &StorageClass, segment: &Segment, figures: Figures) -> Option<Question> {
        let is_nothing = figures.available == 0 && !self.publisher.zero;
        let question = self.may_be_left_out(class, segment);
        question.or(is_nothing.then_some(Question::ZeroOrNothing))
    }

    /// Why an object is optional, whatever its values.
    fn may_be_left_out(&self, class: &StorageClass, segment: &Segment) -> Option<Question> {
        if class.binding == Binding::Immediate && !self.publisher.immediate {
            return Some(Question::ImmediateClasses);
        }
        segment.is_empty().then_some(Question::WithoutTopology)
    }
}

/// The segments of a publisher's nodes. A node that lacks a label for one of the keys has none yet.
fn segments(world: &World, instance: &Instance, publisher: &Publisher) -> BTreeSet<Segment> {
    if publisher.deployment != Deployment::Central {
        return publisher.own_segment(world, instance).into_iter().collect();
    }
    let nodes = world.nodes.keys();
    nodes
        .filter_map(|node| world.segment(&instance.driver, node))
        .collect()
}
