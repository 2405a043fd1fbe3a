//! Exploration: generated case files are valid and reproducible.

use proptest::prelude::*;
use suites::explore::{FOCUSES, Focus, case, generate};
use suites::harness::plan::{Plan, resolve};
use suites::harness::scenario::parse_one;

/// Returns the generated case file for a seed. `wanted`: the areas (focuses) from which the case is generated.
fn generated_case(seed: u64, wanted: &[&'static Focus]) -> String {
    let generated = generate(seed, wanted);
    case(generated.focus, seed, &generated.history)
}

fn load(text: &str) -> Result<Plan, String> {
    let scenario = parse_one("generated.yaml", text).map_err(|error| error.to_string())?;
    resolve(&scenario).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_generated_case_is_valid(seed: u64, focus in 0..FOCUSES.len()) {
        let text = generated_case(seed, &[&FOCUSES[focus]]);
        let loaded = load(&text);
        prop_assert!(loaded.is_ok(), "{}\n{text}", loaded.unwrap_err());
    }

    #[test]
    fn a_case_contains_all_parts_of_its_generated_cluster(seed: u64) {
        let generated = generate(seed, &[]);
        let text = case(generated.focus, seed, &generated.history);
        let history = serde_json::to_value(&generated.history).unwrap();
        for part in history["world"].as_object().unwrap().keys() {
            prop_assert!(text.contains(&format!("\n  {part}:")), "{part}\n{text}");
        }
    }

    #[test]
    fn the_same_seed_yields_the_same_case(seed: u64) {
        let generated = generated_case(seed, &[]);
        prop_assert_eq!(&generated, &generated_case(seed, &[]));
        let focus = generate(seed, &[]).focus;
        prop_assert_eq!(generated, generated_case(seed, &[focus]));
    }
}

/// Parses the case file of the first seed, with a line inserted before the cluster.
fn with_line(line: &str) -> Result<Plan, String> {
    load(&generated_case(1, &[]).replacen("cluster:\n", &format!("{line}\ncluster:\n"), 1))
}

#[test]
fn an_excused_rule_must_exist_in_the_specification() {
    let plan = with_line("excusedRules: [always/watch-without-selector]").unwrap();
    assert!(plan.excused_rules.contains("always/watch-without-selector"));
    let unknown = with_line("excusedRules: [always/colourful]").unwrap_err();
    assert!(unknown.contains("no rule `always/colourful`"), "{unknown}");
}

#[test]
fn values_at_the_limits_are_generated() {
    let all: String = (0..400).map(|seed| generated_case(seed, &[])).collect();
    // The values include a node name of 253 characters, a node name of 63, a class name of 253, a driver name of 63, and sizes around
    // 2^53 and 2^63.
    for value in [
        "n9-aaaa",
        "n8-",
        "class-aaaa",
        "disk-whose",
        "1500m",
        "8Pi+1",
        "8Ei-1",
        "9E",
    ] {
        assert!(all.contains(value), "{value}");
    }
}
