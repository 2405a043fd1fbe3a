//! The table of faults that can be injected at a point of a case, as actions of the case format. No other file contains the name of a
//! fault.

use serde_json::{Value, json};
use suites::harness::standalone::CsiMethod;

use super::point::{Kind, Point};

/// A fault that can be injected into a request, a watch event or a CSI call.
#[derive(Debug)]
pub struct Fault {
    /// Name of the fault.
    pub name: &'static str,
    /// Effect of the fault, as a sentence for the report.
    pub text: &'static str,
    /// The kinds of points at which the fault can be injected.
    pub on: &'static [Kind],
    /// Whether the fault kills the program, which must be restarted afterwards.
    pub kills: bool,
    /// CSI methods at which the program may end after the fault, because no program can start without identifying the driver.
    ends_at: &'static [CsiMethod],
    /// Returns the actions that inject the fault at a point: a fault of the API server, or a fault rule of the driver.
    effects: fn(&Point) -> Vec<Value>,
}

use Kind::{Call, Delivery, Read, Watch, Write};

const IDENTIFYING_CALLS: [CsiMethod; 5] = [
    CsiMethod::Probe,
    CsiMethod::GetPluginInfo,
    CsiMethod::GetPluginCapabilities,
    CsiMethod::ControllerGetCapabilities,
    CsiMethod::NodeGetInfo,
];

macro_rules! faults {
    ($($name:literal, $text:literal, [$($on:ident),+] $($field:ident: $value:expr)?, $effects:expr;)+) => {
        /// All faults, in column order of the grid.
        pub const FAULTS: &[Fault] = &[$(
            Fault { $($field: $value,)? ..Fault::new($name, $text, &[$($on),+], $effects) }
        ),+];
    };
}

faults! {
    "killed-before", "the program is killed before the write is executed", [Write] kills: true,
        |_| vec![json!({"cut": "before", "kill": true})];
    "killed-after", "the program is killed after the write was executed", [Write] kills: true,
        |_| vec![json!({"cut": "after", "kill": true})];
    "lost", "the request is executed, but its response is lost", [Write, Call], |_| vec![json!({"cut": "after"})];
    "cut", "the connection is closed before the request is executed", [Write, Read, Watch, Call],
        |_| vec![json!({"cut": "before"})];
    "409", "the API server returns 409 Conflict", [Write], |_| vec![json!({"status": 409})];
    "410", "the API server returns 410 Expired", [Watch], |_| vec![json!({"status": 410})];
    "429", "the API server returns 429 Too Many Requests, with Retry-After", [Write, Read, Watch],
        |_| vec![json!({"status": 429, "retryAfter": 1})];
    "500", "the API server returns 500 Internal Error", [Write, Read, Watch], |_| vec![json!({"status": 500})];
    "held", "the watch events are delayed by 300 ms", [Watch], |_| vec![json!({"lag": "300ms"})];
    "ended", "the watch ends before the event", [Delivery], |point| vec![json!({"endAfter": point.event - 1})];
    "missed", "the watch ends before the event and cannot resume, so the client sees only the objects of a new list", [Delivery],
        |point| vec![json!({"endAfter": point.event - 1}), json!({"status": 410, "skip": point.number})];
    "hangs", "the driver does not respond", [Call], |_| vec![json!({"hang": true})];
    "late", "the driver responds after 500 ms", [Call], |_| vec![json!({"delay": "500ms"})];
    "unavailable", "the driver returns UNAVAILABLE", [Call], |_| vec![json!({"code": "UNAVAILABLE"})];
    "internal", "the driver returns INTERNAL", [Call] ends_at: &IDENTIFYING_CALLS, |_| vec![json!({"code": "INTERNAL"})];
}

impl Fault {
    /// A fault that does not kill the program, and that the program must survive in a call of any CSI method.
    const fn new(
        name: &'static str,
        text: &'static str,
        on: &'static [Kind],
        effects: fn(&Point) -> Vec<Value>,
    ) -> Self {
        let (kills, ends_at): (bool, &[CsiMethod]) = (false, &[]);
        Fault {
            name,
            text,
            on,
            kills,
            ends_at,
            effects,
        }
    }

    pub(super) fn cell_name(&self, point: &Point) -> String {
        format!("{}-{}", point.name(), self.name)
    }

    /// Whether the fault can be injected at a point, and the program must survive it there.
    pub(super) fn fits(&self, point: &Point) -> bool {
        self.on.contains(&point.kind) && self.ends_at.iter().all(|method| method.as_str() != point.verb)
    }

    /// The actions, in the case format, that inject the fault once at the point.
    pub(super) fn actions(&self, point: &Point) -> Vec<Value> {
        let place = match point.kind {
            Call => json!({"method": point.verb}),
            _ => json!({"api": format!("{} {}", point.verb, point.resource), "by": point.role.as_str()}),
        };
        let action = |effect: Value| {
            let mut fields = json!({"skip": point.number - 1, "times": 1});
            for part in [&place, &effect] {
                for (name, value) in part.as_object().into_iter().flatten() {
                    fields[name] = value.clone();
                }
            }
            match point.kind {
                Call => json!({"driverFault": fields}),
                _ => json!({"fault": fields}),
            }
        };
        (self.effects)(point).into_iter().map(action).collect()
    }
}
