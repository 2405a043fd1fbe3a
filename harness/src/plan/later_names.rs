//! Names that later steps add to the cluster: expectations and faults may use them before the objects exist.

use fake_csi::Method;

use super::scope::Scope;
use super::{ActionSpec, ClassAction, NodeAction, objects};
use crate::scenario::Scenario;

impl Scope<'_> {
    /// Registers the StorageClasses, labels, resources and CSI calls that any step of the scenario contains.
    pub(super) fn register_later_names(&mut self, scenario: &Scenario) {
        let actions = scenario.file.steps.iter().flat_map(|step| &step.value.actions);
        actions.for_each(|action| self.register_names(&action.value));
    }

    fn register_names(&mut self, action: &ActionSpec) {
        match action {
            ActionSpec::Class(ClassAction::Create(spec)) => self.defined.add_class(spec),
            ActionSpec::Object(object) => {
                self.defined.add_class_object(object);
                self.cluster_names.add_object(object);
            }
            ActionSpec::Merge(spec) => self.cluster_names.add_object(&spec.merge),
            ActionSpec::Node(NodeAction::Join(spec)) => {
                self.cluster_names
                    .add_labels(objects::node_labels(spec, &self.segments));
            }
            ActionSpec::Node(NodeAction::Relabel { labels, .. }) => {
                let set = labels
                    .iter()
                    .filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
                self.cluster_names.add_labels(set);
            }
            ActionSpec::Node(NodeAction::Register(spec)) => {
                self.cluster_names
                    .add_labels(self.segments.default_segment(&spec.name));
            }
            ActionSpec::CallDriver(call) => call
                .call
                .parse()
                .into_iter()
                .for_each(|it| self.callers.add_called_method(it)),
            ActionSpec::Mount(_) => self.callers.add_called_method(Method::NodePublishVolume),
            ActionSpec::Attempt(inner) => self.register_names(inner),
            _ => {}
        }
    }
}
