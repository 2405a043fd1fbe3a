//! Invalid settings, with which a program must exit with an error.

use crate::rules;
use crate::violation::{Subject, Violation};
use crate::world::{Publisher, Scheduler, Scoring, World};

/// Why a publisher with these settings must exit. `None` if the settings are valid.
pub fn publisher_error(publisher: &Publisher) -> Option<&'static str> {
    let lacks_namespace = publisher.publishes && !publisher.has_namespace;
    lacks_namespace.then_some("publishing is enabled, but the namespace is not set")
}

/// Why a scheduler with these settings must exit. `None` if the settings are valid.
pub fn scheduler_error(scheduler: &Scheduler) -> Option<&'static str> {
    let has_unused_shape = scheduler.shape.is_some() && scheduler.scoring_mode() == Scoring::Off;
    has_unused_shape.then_some("a scoring shape is set, but scoring is disabled")
}

/// Violations by programs that run although their settings are invalid. `runs_scheduler`: whether a scheduler runs.
pub fn judge(world: &World, runs_scheduler: bool) -> Vec<Violation> {
    let violation = |program: String, why: &str| Violation {
        rule: rules::INVALID_SETTING_ACCEPTED,
        subject: Subject::Settings(program),
        detail: why.to_owned(),
    };
    let publishers = world.publishers.iter();
    let publishers = publishers.filter_map(|(instance, publisher)| {
        let program = match &instance.node {
            Some(node) => format!("publisher@{node}"),
            None => "publisher".to_owned(),
        };
        Some(violation(program, publisher_error(publisher)?))
    });
    let scheduler = scheduler_error(&world.scheduler).filter(|_| runs_scheduler);
    let scheduler = scheduler.map(|why| violation("scheduler".to_owned(), why));
    publishers.chain(scheduler).collect()
}
