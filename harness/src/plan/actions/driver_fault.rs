//! The `driverFault` and `removeDriverFault` actions: parses driver faults of a case into rules of [`fake_csi`].

use fake_csi::{Code, RuleText};

use super::Resolved;
use crate::plan::scope::Scope;
use crate::plan::vocabulary::join_names;
use crate::plan::{Action, vocabulary};
use crate::scenario::Size;

pub(super) fn resolve(scope: &mut Scope<'_>, spec: &RuleText<String, Size>) -> Resolved {
    let mut spec = spec.clone();
    if let Some(class) = spec.class.take() {
        let parameters = scope.classes.get(&class).ok_or_else(|| {
            format!(
                "class `{class}` is not defined; classes: {}",
                join_names(&scope.classes)
            )
        })?;
        spec.parameters.extend(parameters.clone());
    }
    scope.callers.check(Some(vocabulary::method(&spec.method)?))?;
    if let Some(code) = &spec.code {
        if vocabulary::code(code)? == Code::Ok {
            return Err("`OK` is no error; remove `code`, or choose another".to_owned());
        }
        spec.message
            .get_or_insert_with(|| "scripted by the case".to_owned());
    }
    let id = spec.id.take();
    let rule = spec.resolve(|text| scope.segments.parse(&text), |size| to_int64(&size))?;
    let segments = &scope.segments;
    if let Some(segment) = &rule.segment {
        scope.cluster_names.check_segment(segment, segments)?;
    }
    if let Some(id) = &id
        && !scope.driver_faults.insert(id.clone())
    {
        return Err(format!(
            "an earlier `driverFault` has the id `{id}`; choose another `id`"
        ));
    }
    let segment = rule
        .segment
        .as_ref()
        .map(|segment| format!(" in segment {}", segments.format(segment)));
    let note = format!(
        "driver fault added: {rule}{}{}",
        segment.unwrap_or_default(),
        format_affected(rule.skip, rule.times)
    );
    Ok(vec![(Action::DriverFault { id, rule }, note)])
}

pub(super) fn resolve_end(scope: &mut Scope<'_>, id: &str) -> Resolved {
    if !scope.driver_faults.contains(id) {
        return Err(format!(
            "no earlier `driverFault` has the id `{id}`; use the `id` of an earlier fault"
        ));
    }
    let note = format!("driver fault `{id}` removed");
    Ok(vec![(Action::RemoveDriverFault(id.to_owned()), note)])
}

/// Formats which of the matching calls or requests a fault affects, from the keys `skip` and `times`.
pub(super) fn format_affected(skip: u32, times: Option<u32>) -> String {
    let skip = match skip {
        0 => String::new(),
        skip => format!(", after {skip} more"),
    };
    let times = times.map(|times| format!(", {times}×")).unwrap_or_default();
    skip + &times
}

/// Converts a size to int64, the type of CSI capacity fields.
fn to_int64(size: &Size) -> Result<i64, String> {
    let out_of_range = |_| {
        format!(
            "`{size}` does not fit into an int64, the type of CSI capacity fields; write a size such as 30Gi"
        )
    };
    size.bytes().try_into().map_err(out_of_range)
}
