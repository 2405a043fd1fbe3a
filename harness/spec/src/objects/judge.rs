//! Compares existing objects with those that must and may exist.
//!
//! The inputs are the objects before and after the publishers' actions. A manual change meanwhile counts as part of "before".

use std::collections::BTreeSet;

use super::fate::{Fate, fate, is_collected};
use super::ownership::{Ownership, Stored};
use super::pairs::Pairs;
use super::wanted::{Demand, Demanded, Wanted};
use crate::rules::{self, Question, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{CapacityObject, Figures, Instance, NamespacedName, Objects, Owner, Publisher, World};

/// Compares the objects at quiescence with the required ones. `world.objects`: the objects before the publishers' actions.
pub fn judge(world: &World, stored: &Objects) -> Vec<Violation> {
    judge_since(&world.objects, world, stored)
}

/// The same, with the objects before the publishers' actions in `all` instead of the world.
pub(crate) fn judge_since(all: &Objects, world: &World, stored: &Objects) -> Vec<Violation> {
    let mut violations = Vec::new();
    if world.api.version().is_none() {
        // Objects cannot be read, so none are required.
        return violations;
    }
    let ownership = Ownership::of(world);
    let (before, now) = (ownership.divide(all), ownership.divide(stored));
    for (instance, publisher) in &world.publishers {
        let before = before.get(&Some(instance)).cloned().unwrap_or_default();
        let now = now.get(&Some(instance)).cloned().unwrap_or_default();
        if publisher.publishes {
            Judge::new((world, all), instance, publisher, &before).judge(&now, &mut violations);
        } else {
            switched_off((world, all), stored, &before, &now, &mut violations);
        }
    }
    let before = before.get(&None).cloned().unwrap_or_default();
    let now = now.get(&None).cloned().unwrap_or_default();
    others((world, all), stored, &before, &now, &mut violations);
    violations
}

/// Checks the objects of one publisher.
struct Judge<'w> {
    world: &'w World,
    /// All objects before the publishers' actions.
    all: &'w Objects,
    instance: &'w Instance,
    publisher: &'w Publisher,
    wanted: Wanted<'w>,
    /// The publisher's objects before its actions, by class and segment.
    before: Pairs<'w, Vec<&'w CapacityObject>>,
}

impl<'w> Judge<'w> {
    fn new(
        (world, all): (&'w World, &'w Objects),
        instance: &'w Instance,
        publisher: &'w Publisher,
        own: &[Stored<'w>],
    ) -> Self {
        let mut before: Pairs<'_, Vec<_>> = Pairs::new();
        for (_, object) in own {
            if let Some(segment) = object.segment() {
                before.entry(&object.class, segment).push(*object);
            }
        }
        Self {
            world,
            all,
            instance,
            publisher,
            wanted: Wanted::of(world, instance, publisher),
            before,
        }
    }

    fn judge(&self, objects: &[Stored<'_>], violations: &mut Vec<Violation>) {
        let mut found: Pairs<'_, Vec<Stored<'_>>> = Pairs::new();
        // Without GET_CAPACITY the publisher does nothing, not even deletions.
        let is_idle = |key: &NamespacedName, object: &CapacityObject| {
            self.wanted.is_mute() && self.all.get(key) == Some(object)
        };
        for (key, object) in objects.iter().filter(|(key, object)| !is_idle(key, object)) {
            let segment = object.segment();
            let demand = segment
                .as_ref()
                .and_then(|segment| self.wanted.demand_for(&object.class, segment));
            violations.extend(self.owner(key, object, demand.as_ref()));
            match segment.filter(|_| demand.is_some()) {
                Some(segment) => found.entry(&object.class, segment).push((key, object)),
                None => violations.push(on_object(rules::OBSOLETE, key, format!("class {}", object.class))),
            }
        }
        for demanded in self.wanted.demands() {
            let there = found.get(demanded.class, demanded.segment);
            self.pair(
                &demanded,
                there.map(Vec::as_slice).unwrap_or_default(),
                violations,
            );
        }
    }

    fn pair(&self, demanded: &Demanded<'_>, there: &[Stored<'_>], violations: &mut Vec<Violation>) {
        let Demanded {
            class,
            segment,
            demand,
        } = demanded;
        let mut add = |rule, detail: String| {
            let subject = Subject::Pair {
                instance: self.instance.clone(),
                class: (*class).to_owned(),
                segment: (*segment).clone(),
            };
            violations.push(Violation {
                rule,
                subject,
                detail,
            });
        };
        if there.len() > 1 {
            let names: Vec<&str> = there.iter().map(|(key, _)| key.name.as_str()).collect();
            add(rules::DUPLICATE, names.join(", "));
        }
        if there.is_empty()
            && let Demand::Present(figures) | Demand::Stale(figures) = demand
        {
            add(
                rules::MISSING,
                format!("there is no object, and the driver reports {figures}"),
            );
        }
        let before = self.before.get(class, segment).map(Vec::as_slice);
        for (key, object) in there {
            if let Some(rule) = self.wrong(demand, object, before.unwrap_or_default()) {
                let (name, figures) = (&key.name, object.figures());
                add(rule, format!("object {name} has {figures}; {}", allowed(demand)));
            }
        }
    }

    /// The rule that an object's values violate.
    fn wrong(
        &self,
        demand: &Demand,
        object: &CapacityObject,
        before: &[&CapacityObject],
    ) -> Option<&'static Rule> {
        let has_maximum = self.world.api.release.has_maximum();
        let is_as_before = before.iter().any(|earlier| earlier.says_as(object));
        // A maximum stored by a newer release exists but is not returned.
        let object = &CapacityObject {
            maximum: object.maximum.filter(|_| has_maximum),
            ..object.clone()
        };
        match demand {
            Demand::Present(figures) => (!object.says(figures)).then_some(rules::WRONG_CAPACITY),
            Demand::Stale(figures) => {
                (!object.says(figures) && !is_as_before).then_some(rules::WRONG_CAPACITY)
            }
            Demand::Optional {
                figures,
                as_before,
                question,
            } => {
                let is_told = figures.iter().any(|figures| object.says(figures));
                let may_be_empty = *question == Question::KeepOrWithdraw || offers_nothing(figures);
                let is_empty = object.is_empty(has_maximum);
                let holds = is_told || (is_empty && may_be_empty) || (*as_before && is_as_before);
                (!holds).then(|| rule_of(*question, figures))
            }
        }
    }

    /// Checks that an object has the configured owner, or no owner from the publisher if none is configured.
    fn owner(
        &self,
        key: &NamespacedName,
        object: &CapacityObject,
        demand: Option<&Demand>,
    ) -> Option<Violation> {
        let before = self.all.get(key);
        let is_as_before = before.is_some_and(|before| before.owners == object.owners);
        // Without a capacity value, or without polling, the publisher need not write the object.
        let is_untold = demand.is_some_and(|demand| demand.question() == Some(Question::KeepOrWithdraw))
            || !self.publisher.polls;
        let wrong = match &self.publisher.owner {
            Some(owner) => {
                let is_it = |it: &&Owner| it.uid == owner.uid;
                let controllers = object.owners.iter().filter(|it| it.controller).count();
                // Garbage collection does not need `controller`.
                let is_there = object.owners.iter().any(|it| is_it(&it));
                (!is_there || controllers > 1) && !(is_untold && is_as_before)
            }
            // Owners set before may remain.
            None => !object.owners.is_empty() && !is_as_before,
        };
        let names: Vec<String> = object
            .owners
            .iter()
            .map(|it| format!("{} {}", it.kind, it.name))
            .collect();
        wrong.then(|| on_object(rules::WRONG_OWNER, key, format!("owners: {}", names.join(", "))))
    }
}

/// Whether all allowed values are zero.
fn offers_nothing(figures: &BTreeSet<Figures>) -> bool {
    figures.iter().all(|figures| figures.available == 0)
}

/// The rule that wrong values violate if there is a choice.
fn rule_of(question: Question, figures: &BTreeSet<Figures>) -> &'static Rule {
    match question {
        Question::KeepOrWithdraw => rules::UNKNOWN_CAPACITY,
        _ if offers_nothing(figures) => rules::NONZERO_CAPACITY,
        _ => rules::WRONG_CAPACITY,
    }
}

fn allowed(demand: &Demand) -> String {
    match demand {
        Demand::Present(figures) => format!("the driver reports {figures}"),
        Demand::Stale(figures) => format!("the driver reports {figures}; the previous value is allowed too"),
        Demand::Optional {
            figures, as_before, ..
        } => {
            let figures: Vec<String> = figures.iter().map(ToString::to_string).collect();
            let before = if *as_before { ", or the previous value" } else { "" };
            format!("allowed: no object, or {}{before}", figures.join(" or "))
        }
    }
}

/// A disabled publisher must neither write nor delete objects of its earlier runs.
fn switched_off(
    (world, all): (&World, &Objects),
    stored: &Objects,
    before: &[Stored<'_>],
    now: &[Stored<'_>],
    violations: &mut Vec<Violation>,
) {
    for (key, object) in before {
        if stored.get(*key) != Some(*object) && !is_collected(world, object) {
            let detail = "it was changed or removed".to_owned();
            violations.push(on_object(rules::PUBLISHED_WHILE_DISABLED, key, detail));
        }
    }
    for (key, _) in now {
        if !all.contains_key(*key) {
            violations.push(on_object(
                rules::PUBLISHED_WHILE_DISABLED,
                key,
                "it was created".to_owned(),
            ));
        }
    }
}

/// Checks objects without a running publisher: they must remain unless the cleaner or garbage collection deletes them.
fn others(
    (world, all): (&World, &Objects),
    stored: &Objects,
    before: &[Stored<'_>],
    now: &[Stored<'_>],
    violations: &mut Vec<Violation>,
) {
    for (key, object) in before {
        let there = stored.get(*key);
        match fate(world, key, object) {
            Fate::Stays if there != Some(*object) => {
                let what = if there.is_some() { "changed" } else { "removed" };
                let detail = format!("it was {what}, and belongs to no running publisher");
                violations.push(on_object(rules::FOREIGN_OBJECT_CHANGED, key, detail));
            }
            Fate::Goes(rule) if there.is_some() => {
                violations.push(on_object(rule, key, "it still exists".to_owned()));
            }
            _ => {}
        }
    }
    for (key, object) in now {
        if !all.contains_key(*key) {
            let detail = format!(
                "it is new, and has the labels of no publisher: {:?}",
                object.labels
            );
            violations.push(on_object(rules::WRONG_LABELS, key, detail));
        }
    }
}

fn on_object(rule: &'static Rule, key: &NamespacedName, detail: String) -> Violation {
    Violation {
        rule,
        subject: Subject::Object(key.clone()),
        detail,
    }
}
