//! What must, or may, be published for a class at a segment.

use std::collections::BTreeSet;

use capacity_types::Segment;

use crate::rules::Question;
use crate::world::{
    Answer, Binding, Deployment, Driver, Figures, Instance, Parameters, Publisher, StorageClass, World,
};

/// What must be published for a class at a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// One object, with these figures.
    Present(Figures),
    /// One object, with these figures or those that it had before.
    Stale(Figures),
    /// One object with one of these figures, or with none, or no object. Which is left open.
    Optional {
        /// The figures that it may have.
        figures: BTreeSet<Figures>,
        /// Whether it may be as it was before.
        as_before: bool,
        /// Why the choice is left.
        question: Question,
    },
}

impl Demand {
    /// Why there is a choice; none: there is none.
    pub fn question(&self) -> Option<Question> {
        match self {
            Demand::Present(_) => None,
            Demand::Stale(_) => Some(Question::WithoutPolling),
            Demand::Optional { question, .. } => Some(*question),
        }
    }
}

/// A demand, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demanded<'w> {
    /// The class.
    pub class: &'w str,
    /// The segment.
    pub segment: &'w Segment,
    /// The demand.
    pub demand: Demand,
}

/// What one publisher has to publish.
pub struct Wanted<'w> {
    world: &'w World,
    publisher: &'w Publisher,
    /// Its classes, in the order of their names.
    classes: Vec<(&'w str, &'w StorageClass)>,
    segments: BTreeSet<Segment>,
    /// The plugin; none: nothing is known of it, so that it answers nothing.
    driver: Option<&'w Driver>,
}

impl<'w> Wanted<'w> {
    /// Of a publisher of this world.
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

    /// Whether the driver does not advertise GET_CAPACITY, so that there is nothing to publish.
    pub fn is_mute(&self) -> bool {
        self.driver.is_some_and(|driver| !driver.get_capacity)
    }

    /// Whether there may be an object for a class at a segment at all.
    pub fn has(&self, class: &str, segment: &Segment) -> bool {
        self.class(class).is_some() && self.segments.contains(segment)
    }

    /// The segments that it publishes for.
    pub fn segments(&self) -> &BTreeSet<Segment> {
        &self.segments
    }

    /// A class of its driver.
    pub fn class(&self, name: &str) -> Option<&'w StorageClass> {
        let at = self.classes.binary_search_by_key(&name, |(own, _)| own).ok()?;
        Some(self.classes[at].1)
    }

    /// All demands, by class and segment.
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

    /// What is demanded for a class at a segment; none: there must be no object.
    pub fn demand_for(&self, class: &str, segment: &Segment) -> Option<Demand> {
        let class = self.class(class).filter(|_| self.segments.contains(segment))?;
        let answer = self.answer(segment, &class.driver_parameters());
        Some(self.demand(class, segment, answer))
    }

    /// Whether there may be no object for a class at a segment. A publisher that does not withdraw what the driver tells no figure of keeps it.
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

    /// The plugin, if it may be asked.
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
        // One that asks only when something else happens may not have noticed.
        let is_kept = !self.publisher.withdraws || !self.publisher.polls;
        let figures = match answer {
            // CSI: a driver without GET_CAPACITY is not to be asked.
            None => return untold(BTreeSet::new(), true),
            Some(Answer::Error { before }) => {
                let sound = before.iter().filter(|figures| figures.is_sound());
                // What was written before may have been written to a server that did not keep the maximum.
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

    /// Why an object may be there or not.
    fn question(&self, class: &StorageClass, segment: &Segment, figures: Figures) -> Option<Question> {
        let is_nothing = figures.available == 0 && !self.publisher.zero;
        let question = self.may_be_left_out(class, segment);
        question.or(is_nothing.then_some(Question::ZeroOrNothing))
    }

    /// Why an object may be there or not, whatever its figures.
    fn may_be_left_out(&self, class: &StorageClass, segment: &Segment) -> Option<Question> {
        if class.binding == Binding::Immediate && !self.publisher.immediate {
            return Some(Question::ImmediateClasses);
        }
        segment.is_empty().then_some(Question::WithoutTopology)
    }
}

/// The segments of the nodes that a publisher publishes for. A node without a label for one of the keys has none yet.
fn segments(world: &World, instance: &Instance, publisher: &Publisher) -> BTreeSet<Segment> {
    if publisher.deployment != Deployment::Central {
        return publisher.own_segment(world, instance).into_iter().collect();
    }
    let nodes = world.nodes.keys();
    nodes
        .filter_map(|node| world.segment(&instance.driver, node))
        .collect()
}
