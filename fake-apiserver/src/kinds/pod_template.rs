//! PodTemplate: stored and printed.

use super::{Generation, Hooks, NO_HOOKS, PLAIN, ResourceDefinition, pod};
use crate::kinds::columns::Cell::{Labels, Of};
use crate::kinds::columns::{NAME, join_container_fields, text};

pub(super) static POD_TEMPLATE: ResourceDefinition = ResourceDefinition {
    kind: "PodTemplate",
    plural: "podtemplates",
    generation_of: &["/template"],
    generation: Generation::FromCreation,
    returns_deleted: true,
    template: Some("/template"),
    hooks: Hooks {
        default: |object| {
            if let Some(template) = object.get_mut("template") {
                pod::template_default(template);
            }
        },
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text(
            "Containers",
            Of(|o| join_container_fields(&o["template"]["spec"]["containers"], "name")),
        ),
        text(
            "Images",
            Of(|o| join_container_fields(&o["template"]["spec"]["containers"], "image")),
        ),
        text("Pod Labels", Labels("/template/metadata/labels")),
    ],
    ..PLAIN
};
