//! Property tests of the serialized forms of pools, rules and sizes: they round-trip, and no input panics.

use std::{collections::BTreeMap, time::Duration};

use fake_csi::{
    Access, Code, CostFactor, Device, Effect, Method, Pool, Rule, Storage,
    description::{CostSpec, PoolSpec, ReservationSpec},
};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
};

fn any_pairs() -> impl Strategy<Value = BTreeMap<String, String>> {
    btree_map("[a-z./]{1,8}", ".{0,8}", 0..3)
}

fn any_device() -> impl Strategy<Value = Device> {
    let access = prop_oneof![Just(Access::Any), Just(Access::Block), Just(Access::Mount)];
    (any::<u64>(), any_pairs(), any::<bool>(), access).prop_map(|(size, parameters, group, access)| Device {
        size,
        parameters,
        group,
        access,
    })
}

fn any_pool() -> impl Strategy<Value = Pool> {
    let storage = prop_oneof![
        (any::<u64>(), option::of(any::<u64>()))
            .prop_map(|(capacity, largest)| Storage::Linear { capacity, largest }),
        (any::<u64>(), any::<u64>()).prop_map(|(size, used)| Storage::Filesystem { size, used }),
        btree_map(".{0,6}", any_device(), 0..4).prop_map(Storage::Devices),
    ];
    (any_pairs(), any_pairs(), storage).prop_map(|(segment, parameters, storage)| Pool {
        segment,
        parameters,
        storage,
    })
}

fn any_effect() -> impl Strategy<Value = Effect> {
    let code = (1..=16).prop_map(Code::from_i32);
    let bytes = || option::of(any::<i64>());
    prop_oneof![
        (code, ".*").prop_map(|(code, message)| Effect::Code(code, message)),
        (0..3_600_000_u64).prop_map(|time| Effect::Delay(Duration::from_millis(time))),
        Just(Effect::Hang),
        Just(Effect::Disconnect),
        Just(Effect::LoseAnswer),
        (any::<i64>(), bytes(), bytes()).prop_map(|(available, maximum, minimum)| Effect::Capacity {
            available,
            maximum,
            minimum
        }),
        (bytes(), option::of(vec(any_pairs(), 0..3)))
            .prop_map(|(bytes, topology)| Effect::Volume { bytes, topology }),
        any::<bool>().prop_map(Effect::Ready),
    ]
}

fn any_rule() -> impl Strategy<Value = Rule> {
    let method = proptest::sample::select(Method::all().collect::<Vec<_>>());
    (
        method,
        option::of(any_pairs()),
        any_pairs(),
        any::<u32>(),
        option::of(any::<u32>()),
        any_effect(),
    )
        .prop_map(|(method, segment, parameters, skip, times, effect)| Rule {
            method,
            segment,
            parameters,
            skip,
            times,
            effect,
        })
}

/// Generates JSON objects with the known keys and arbitrary values, mostly invalid.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let keys = [
        "segment",
        "parameters",
        "capacity",
        "maximum",
        "filesystem",
        "devices",
        "size",
        "used",
        "group",
        "access",
        "method",
        "skip",
        "times",
        "code",
        "message",
        "delay",
        "hang",
        "cut",
        "available",
        "maximum",
        "volume",
        "bytes",
        "topology",
        "ready",
        "name",
        "segments",
        "volumes",
        "holder",
        "factor",
        "value",
        "parameter",
        "x",
    ];
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,6}".prop_map(Into::into),
        proptest::sample::select(vec![
            "10Gi",
            "1/0",
            "3/2",
            "50ms",
            "GetCapacity",
            "UNAVAILABLE",
            "before",
            "block"
        ])
        .prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 24, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Into::into),
            btree_map(proptest::sample::select(keys.to_vec()), inner, 0..6).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}

proptest! {
    #[test]
    fn serialized_pool_parses_to_the_same_pool(pool in any_pool()) {
        let text = serde_json::to_string(&PoolSpec(pool.clone())).unwrap();
        prop_assert_eq!(serde_json::from_str::<PoolSpec>(&text).unwrap().0, pool);
    }

    #[test]
    fn serialized_rule_parses_to_the_same_rule(rule in any_rule()) {
        let text = serde_json::to_string(&rule).unwrap();
        prop_assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule);
    }

    #[test]
    fn serialized_cost_parses_to_the_same_cost(numerator in 1..u64::MAX, denominator in 1..u64::MAX, names in any_pairs()) {
        for (parameter, value) in names {
            let cost = CostFactor { parameter, value, numerator, denominator };
            let text = serde_json::to_string(&CostSpec(cost.clone())).unwrap();
            prop_assert_eq!(serde_json::from_str::<CostSpec>(&text).unwrap().0, cost);
        }
    }

    #[test]
    fn arbitrary_json_does_not_panic_and_accepted_json_round_trips(value in any_json()) {
        let text = value.to_string();
        if let Ok(pool) = serde_json::from_str::<PoolSpec>(&text) {
            // A pool that was parsed can be serialized again.
            let again = serde_json::to_string(&pool).unwrap();
            prop_assert_eq!(serde_json::from_str::<PoolSpec>(&again).unwrap(), pool);
        }
        if let Ok(rule) = serde_json::from_str::<Rule>(&text) {
            let again = serde_json::to_string(&rule).unwrap();
            prop_assert_eq!(serde_json::from_str::<Rule>(&again).unwrap(), rule);
        }
        if let Ok(CostSpec(cost)) = serde_json::from_str::<CostSpec>(&text) {
            prop_assert!(cost.numerator > 0 && cost.denominator > 0);
        }
        let _ = serde_json::from_str::<ReservationSpec>(&text);
    }

    #[test]
    fn arbitrary_text_is_rejected_without_panic(text in ".*") {
        prop_assert!(serde_json::from_str::<PoolSpec>(&text).is_err());
        prop_assert!(serde_json::from_str::<Rule>(&text).is_err());
    }
}
