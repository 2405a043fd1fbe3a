//! Validation against `anyOf`, `oneOf`, `allOf` and `not`.

use super::correlated::OldValue;
use super::failure::Failure;
use super::trail::Trail;
use super::verdict::Verdict;
use fake_apiserver::extension::schema::{Checks, Schema};
use serde_json::Value;

type ValidateFn = fn(&Value, &Schema, OldValue<'_>, &mut Trail) -> Verdict;

/// Validates a value against the schemas in `allOf`, `anyOf`, `oneOf` and `not`.
pub(super) fn validate_alternatives(
    look: ValidateFn,
    value: &Value,
    checks: &Checks,
    before: OldValue<'_>,
    trail: &mut Trail,
) -> Verdict {
    let mut verdict = Verdict::default();
    for (schemas, combine) in [
        (&checks.any_of, any_of as fn(Vec<Verdict>, &Trail) -> Verdict),
        (&checks.one_of, one_of),
        (&checks.all_of, all_of),
    ] {
        let found: Vec<Verdict> = schemas
            .iter()
            .map(|schema| look(value, schema, before, trail))
            .collect();
        if !found.is_empty() {
            verdict.merge(combine(found, trail));
        }
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
    let failure = Failure::without_path(format!("{:?} {what}", trail.as_str()));
    Failure::add(&mut verdict.failures, vec![failure]);
}

fn any_of(found: Vec<Verdict>, trail: &Trail) -> Verdict {
    let mut verdict = Verdict::default();
    let (valid, invalid): (Vec<Verdict>, Vec<Verdict>) = found.into_iter().partition(Verdict::is_valid);
    match valid.into_iter().next() {
        Some(first) => verdict.merge(first),
        None => {
            fail(&mut verdict, trail, "must validate at least one schema (anyOf)");
            verdict.merge(best(invalid));
        }
    }
    verdict
}

fn one_of(found: Vec<Verdict>, trail: &Trail) -> Verdict {
    let mut verdict = Verdict::default();
    let (mut valid, invalid): (Vec<Verdict>, Vec<Verdict>) = found.into_iter().partition(Verdict::is_valid);
    let count = match valid.len() {
        1 => return valid.remove(0),
        0 => "Found none valid".to_owned(),
        count => format!("Found {count} valid alternatives"),
    };
    let what = format!("must validate one and only one schema (oneOf). {count}");
    fail(&mut verdict, trail, &what);
    if valid.is_empty() {
        verdict.merge(best(invalid));
    }
    verdict
}

fn all_of(found: Vec<Verdict>, trail: &Trail) -> Verdict {
    let mut verdict = Verdict::default();
    let valid = found.iter().filter(|found| found.is_valid()).count();
    let is_valid = valid == found.len();
    found.into_iter().for_each(|found| verdict.merge(found));
    if !is_valid {
        let none = if valid == 0 { ". None validated" } else { "" };
        fail(
            &mut verdict,
            trail,
            &format!("must validate all the schemas (allOf){none}"),
        );
    }
    verdict
}

/// The verdict with the most passed checks; of several verdicts with equally many, the first.
fn best(found: Vec<Verdict>) -> Verdict {
    let first = found
        .into_iter()
        .reduce(|best, other| match other.fits > best.fits {
            true => other,
            false => best,
        });
    first.unwrap_or_default()
}
