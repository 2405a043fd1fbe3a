//! Exploration: what is drawn is a case like any other.

use proptest::prelude::*;
use suites::explore::{FOCUSES, Focus, case, draw};
use suites::harness::plan::{Plan, resolve};
use suites::harness::scenario::parse_one;

/// The case of a seed.
fn text(seed: u64, wanted: &[&'static Focus]) -> String {
    let drawn = draw(seed, wanted);
    case(drawn.focus, seed, &drawn.history)
}

fn load(text: &str) -> Result<Plan, String> {
    let scenario = parse_one("drawn.yaml", text).map_err(|error| error.to_string())?;
    resolve(&scenario).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_drawn_world_loads(seed: u64, focus in 0..FOCUSES.len()) {
        let text = text(seed, &[&FOCUSES[focus]]);
        let loaded = load(&text);
        prop_assert!(loaded.is_ok(), "{}\n{text}", loaded.unwrap_err());
    }

    #[test]
    fn nothing_that_was_drawn_of_a_cluster_is_left_out_of_its_case(seed: u64) {
        let drawn = draw(seed, &[]);
        let text = case(drawn.focus, seed, &drawn.history);
        let history = serde_json::to_value(&drawn.history).unwrap();
        for part in history["world"].as_object().unwrap().keys() {
            prop_assert!(text.contains(&format!("\n  {part}:")), "{part}\n{text}");
        }
    }

    #[test]
    fn the_same_seed_is_the_same_case(seed: u64) {
        let drawn = text(seed, &[]);
        prop_assert_eq!(&drawn, &text(seed, &[]));
        let focus = draw(seed, &[]).focus;
        prop_assert_eq!(drawn, text(seed, &[focus]));
    }
}
