//! What the real server makes of rules, recorded from its packages: `tests/rules.json`.
//!
//! Each rule is there with what is wrong with it, or with what it costs at most, what it comes to, and what that costs.

use super::check::check;
use super::declared::Declared;
use super::estimate::estimate;
use super::evaluate::evaluate;
use super::failure::Failure;
use super::program::Program;
use super::types::CelType;
use super::value::Val;
use crate::structural::Schema;
use serde_json::{Value, json};

/// What becomes of a rule for a value, in the form of the records.
fn outcome(rule: &str, group: &Value) -> Result<Value, String> {
    let schema = Schema::read(&group["schema"]);
    let declared = Declared::Value(&schema, false);
    let program = Program::read(rule)?;
    let of = CelType::of(declared, "selfType0").expect("rules see it");
    let checked = check(&program, vec![("self", of.clone()), ("oldSelf", of)])?;
    if checked.of != CelType::Bool {
        return Err("cel expression must evaluate to a bool".to_owned());
    }
    let most = estimate(&program.expression, &checked, declared).max;
    let of = |value| Val::of(value, Some(&schema));
    let variables = vec![("self", of(&group["value"])), ("oldSelf", of(&group["before"]))];
    let (found, cost) = evaluate(&program, &program.expression, variables);
    let found = match found {
        Ok(found) => json!(found == Val::Bool(true)),
        Err(Failure::TooExpensive) => json!("too expensive"),
        Err(Failure::Failed(why)) => json!(why),
    };
    Ok(json!([rule, most, found, cost]))
}

#[test]
fn rules_mean_and_cost_what_they_do_there() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rules.json");
    let text = std::fs::read_to_string(file).expect("the records are there");
    let groups: Vec<Value> = serde_json::from_str(&text).expect("they are JSON");
    let mut wrong = Vec::new();
    for group in &groups {
        let rules = group["rules"].as_array().expect("a list of rules");
        for there in rules {
            let rule = there[0].as_str().expect("a rule");
            let here = outcome(rule, group).unwrap_or_else(|why| json!([rule, why]));
            if here != *there {
                wrong.push(format!("{rule}\n  there {there}\n  here  {here}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
