//! Names that later steps add to the cluster: expectations and faults may use them before the objects exist.

use fake_csi::Method;

use super::scope::Scope;
use super::{ActionSpec, ClassAction, NodeAction, objects};
use crate::scenario::Scenario;

impl Scope<'_> {
    /// Registers the classes, labels, resources and CSI calls of all steps.
    pub(super) fn announce(&mut self, scenario: &Scenario) {
        let actions = scenario.file.steps.iter().flat_map(|step| &step.value.actions);
        actions.for_each(|action| self.announced(&action.value));
    }

    fn announced(&mut self, action: &ActionSpec) {
        match action {
            ActionSpec::Class(ClassAction::Create(spec)) => self.known.class(spec),
            ActionSpec::Object(object) => {
                self.known.class_object(object);
                self.places.object(object);
            }
            ActionSpec::Merge(spec) => self.places.object(&spec.merge),
            ActionSpec::Node(NodeAction::Join(spec)) => {
                self.places.labels(objects::node_labels(spec, &self.segments));
            }
            ActionSpec::Node(NodeAction::Relabel { labels, .. }) => {
                let set = labels
                    .iter()
                    .filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
                self.places.labels(set);
            }
            ActionSpec::Node(NodeAction::Register(spec)) => {
                self.places.labels(self.segments.usual(&spec.name));
            }
            ActionSpec::CallDriver(call) => call
                .call
                .parse()
                .into_iter()
                .for_each(|it| self.callers.called(it)),
            ActionSpec::Mount(_) => self.callers.called(Method::NodePublishVolume),
            ActionSpec::Attempt(inner) => self.announced(inner),
            _ => {}
        }
    }
}
