//! PersistentVolumes and PersistentVolumeClaims, with their volume sources.

mod claim_source;
mod persistent_volume;
mod persistent_volume_claim;
mod plugins;
mod rules;
mod source;

pub(super) use persistent_volume::{PERSISTENT_VOLUME, inline_validate, source_default};
pub(super) use persistent_volume_claim::{
    PERSISTENT_VOLUME_CLAIM, claim_spec_default, spec_validate as claim_validate,
};
pub(super) use plugins::Owner;
pub(super) use rules::{add_protection_finalizer, template_metadata};
pub(super) use source::{
    SourceRule, driver_name, host_path, reject_second_source as another_source, validate_source as one_source,
};
