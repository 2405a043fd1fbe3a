//! Schemas that combine others: any of them, one of them, all of them, not that one.

use super::correlated::Before;
use super::failure::Failure;
use super::schema::{Checks, Schema};
use super::trail::Trail;
use super::validate::{Verdict, judge as look};
use serde_json::Value;

/// Looks at a value by the schemas that are combined.
pub(super) fn judge(value: &Value, checks: &Checks, before: Before<'_>, trail: &mut Trail) -> Verdict {
    let mut verdict = Verdict::default();
    if !checks.any_of.is_empty() {
        any_of(value, &checks.any_of, before, trail, &mut verdict);
    }
    if !checks.one_of.is_empty() {
        one_of(value, &checks.one_of, before, trail, &mut verdict);
    }
    if !checks.all_of.is_empty() {
        all_of(value, &checks.all_of, before, trail, &mut verdict);
    }
    if let Some(not) = &checks.not
        && look(value, not, before, trail).is_valid()
    {
        fail(&mut verdict, trail, "must not validate the schema (not)");
    }
    verdict.fits += 1;
    verdict
}

fn fail(verdict: &mut Verdict, trail: &Trail, what: &str) {
    let failure = Failure::bare(format!("{:?} {what}", trail.as_str()));
    Failure::add(&mut verdict.failures, vec![failure]);
}

fn any_of(value: &Value, schemas: &[Schema], before: Before<'_>, trail: &mut Trail, verdict: &mut Verdict) {
    let mut best: Option<Verdict> = None;
    for schema in schemas {
        let found = look(value, schema, before, trail);
        if found.is_valid() {
            return verdict.merge(found);
        }
        if best.as_ref().is_none_or(|best| found.fits > best.fits) {
            best = Some(found);
        }
    }
    fail(verdict, trail, "must validate at least one schema (anyOf)");
    verdict.merge(best.unwrap_or_default());
}

fn one_of(value: &Value, schemas: &[Schema], before: Before<'_>, trail: &mut Trail, verdict: &mut Verdict) {
    let (mut valid, mut first, mut best) = (0, None, None::<Verdict>);
    for schema in schemas {
        let found = look(value, schema, before, trail);
        if found.is_valid() {
            valid += 1;
            best = None;
            first = first.or(Some(found));
        } else if valid == 0 && best.as_ref().is_none_or(|best| found.fits > best.fits) {
            best = Some(found);
        }
    }
    if valid == 1 {
        return verdict.merge(first.unwrap_or_default());
    }
    let count = match valid {
        0 => "Found none valid".to_owned(),
        valid => format!("Found {valid} valid alternatives"),
    };
    let what = format!("must validate one and only one schema (oneOf). {count}");
    fail(verdict, trail, &what);
    verdict.merge(best.unwrap_or_default());
}

fn all_of(value: &Value, schemas: &[Schema], before: Before<'_>, trail: &mut Trail, verdict: &mut Verdict) {
    let mut valid = 0;
    for schema in schemas {
        let found = look(value, schema, before, trail);
        valid += usize::from(found.is_valid());
        verdict.merge(found);
    }
    if valid != schemas.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        fail(
            verdict,
            trail,
            &format!("must validate all the schemas (allOf){none}"),
        );
    }
}
