//! Defects of the driver: wrong storage, faults and reservations.

use std::collections::{BTreeMap, BTreeSet};

use fake_csi::{Access, Code, Device, Effect, Method, Rule, Storage};

use super::actions::{begin_with, edit_actions, insert_after_actions, replace_actions};
use crate::plan::{Action, CsiCall, CsiCallKind, Plan};
use crate::scenario::ResponseSpec;

pub(super) fn advertise_unimplemented_get_capacity(plan: &mut Plan) {
    plan.driver.get_capacity = true;
    fail_method(plan, Method::GetCapacity, Code::Unimplemented);
}

pub(super) fn raise_minimum(plan: &mut Plan) {
    add_rule(plan, |all| {
        let minimum = Some(all.saturating_add(1));
        let effect = Effect::Capacity {
            available: all,
            maximum: Some(all),
            minimum,
        };
        rule_for_all_calls(Method::GetCapacity, effect)
    });
}

pub(super) fn grow_pools_after_first_call(plan: &mut Plan) {
    add_rule(plan, |all| apply_once(get_capacity_rule(all)));
    for (_, storage) in &mut plan.driver.pools {
        if let Storage::Linear { capacity, .. } = storage {
            *capacity = capacity.saturating_mul(1000);
        }
    }
}

pub(super) fn fail_repeated_calls(plan: &mut Plan) {
    let again = |method, code| skip_first_call(rule_for_all_calls(method, error_effect(code)));
    prepend_driver_faults(
        plan,
        [
            again(Method::CreateVolume, Code::AlreadyExists),
            again(Method::DeleteVolume, Code::NotFound),
        ],
    );
}

/// Adds faults for class parameters that the driver's storage does not use, and for the parameter `unheard-of`, which only the cases about
/// this defect use.
pub(super) fn fail_on_unknown_parameters(plan: &mut Plan) {
    let mut meant: BTreeSet<String> = plan.driver.costs.iter().map(|cost| cost.0.clone()).collect();
    each_device(plan, |device| meant.extend(device.parameters.keys().cloned()));
    let of_classes = plan.class_parameters.values().flatten();
    let unknown = of_classes.filter(|(name, _)| !meant.contains(*name));
    let mut unknown: BTreeMap<String, String> = unknown
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    unknown.insert("unheard-of".to_owned(), "1".to_owned());
    let scripts: Vec<Rule> = unknown
        .into_iter()
        .map(|parameter| Rule {
            parameters: [parameter].into(),
            ..rule_for_all_calls(Method::GetCapacity, error_effect(Code::Internal))
        })
        .collect();
    prepend_driver_faults(plan, scripts);
}

pub(super) fn forget_raw_devices(plan: &mut Plan) {
    each_storage(plan, |storage| {
        if let Storage::Devices(devices) = storage {
            devices.retain(|_, device| device.access != Access::Block);
        }
    });
}

pub(super) fn need_reservations(plan: &mut Plan) {
    let mut reserves = plan.extenders.iter().any(|extender| extender.reserves);
    edit_actions(plan, |action| reserves |= matches!(action, Action::Reserve(_)));
    if !reserves {
        fail_method(plan, Method::CreateVolume, Code::FailedPrecondition);
    }
}

pub(super) fn reserve_nothing(plan: &mut Plan) {
    plan.extenders
        .iter_mut()
        .for_each(|extender| extender.reserves = false);
    replace_actions(plan, |action| match action {
        Action::Reserve(_) | Action::Unreserve(_) => Vec::new(),
        action => vec![action],
    });
}

pub(super) fn forget_holders(plan: &mut Plan) {
    edit_actions(plan, |action| {
        if let Action::Reserve(reservation) = action {
            let holders = reservation
                .volumes
                .iter_mut()
                .flat_map(|volume| volume.holder.values_mut());
            holders.for_each(|holder| *holder = "nobody".to_owned());
        }
    });
}

pub(super) fn return_wrong_error_code(plan: &mut Plan) {
    plan.driver.exhausted = Code::Internal.into();
    edit_actions(plan, |action| {
        if let Action::DriverFault { rule, .. } = action
            && let Effect::Code(code @ Code::ResourceExhausted, _) = &mut rule.effect
        {
            *code = Code::Internal;
        }
    });
}

pub(super) fn add_calls_of_another_client(plan: &mut Plan) {
    let segment = plan.driver_nodes.first().map(|(_, segment)| segment.clone());
    let mut calls = 0;
    insert_after_actions(plan, |action| {
        let is_cause = match action {
            Action::Create(object) => object["kind"] == "Pod",
            action => matches!(action, Action::SetPool(..)),
        };
        calls += 1;
        let call = CsiCall {
            name: format!("of another {calls}"),
            class: None,
            segment: segment.clone(),
            kind: CsiCallKind::Capacity(BTreeMap::new()),
            until: ResponseSpec::default(),
        };
        is_cause.then_some(Action::CsiCall(call)).into_iter().collect()
    });
}

/// Sum of the initial capacity of all pools, in bytes.
fn initial_capacity(plan: &Plan) -> i64 {
    let raw = |storage: &Storage| match storage {
        Storage::Linear { capacity, .. } => *capacity,
        Storage::Filesystem { size, used } => size.saturating_sub(*used),
        Storage::Devices(devices) => devices.values().map(|device| device.size).sum(),
    };
    let all = plan
        .driver
        .pools
        .iter()
        .map(|(_, storage)| raw(storage))
        .sum::<u64>();
    i64::try_from(all).unwrap_or(i64::MAX)
}

/// Edits the driver's initial storage and every storage that a later action sets.
fn each_storage(plan: &mut Plan, mut change: impl FnMut(&mut Storage)) {
    plan.driver
        .pools
        .iter_mut()
        .for_each(|(_, storage)| change(storage));
    edit_actions(plan, |action| {
        if let Action::SetPool(_, Some(storage)) = action {
            change(storage);
        }
    });
}

pub(super) fn each_device(plan: &mut Plan, mut change: impl FnMut(&mut Device)) {
    each_storage(plan, |storage| {
        if let Storage::Devices(devices) = storage {
            devices.values_mut().for_each(&mut change);
        }
    });
}

pub(super) fn fail_method(plan: &mut Plan, method: Method, code: Code) {
    prepend_driver_faults(plan, [rule_for_all_calls(method, error_effect(code))]);
}

/// Adds a driver fault rule. `rule` gets the initial capacity of all pools in bytes.
pub(super) fn add_rule(plan: &mut Plan, rule: impl FnOnce(i64) -> Rule) {
    let rule = rule(initial_capacity(plan));
    prepend_driver_faults(plan, [rule]);
}

fn error_effect(code: Code) -> Effect {
    Effect::Code(code, "scripted by the case".to_owned())
}

fn rule_for_all_calls(method: Method, effect: Effect) -> Rule {
    Rule {
        method,
        segment: None,
        parameters: BTreeMap::new(),
        skip: 0,
        times: None,
        effect,
    }
}

pub(super) fn get_capacity_rule(bytes: i64) -> Rule {
    rule_for_all_calls(
        Method::GetCapacity,
        Effect::Capacity {
            available: bytes,
            maximum: Some(bytes),
            minimum: None,
        },
    )
}

pub(super) fn skip_first_call(script: Rule) -> Rule {
    Rule { skip: 1, ..script }
}

pub(super) fn apply_once(script: Rule) -> Rule {
    Rule {
        times: Some(1),
        ..script
    }
}

fn prepend_driver_faults(plan: &mut Plan, scripts: impl IntoIterator<Item = Rule>) {
    begin_with(
        plan,
        scripts
            .into_iter()
            .map(|rule| Action::DriverFault { id: None, rule }),
    );
}
