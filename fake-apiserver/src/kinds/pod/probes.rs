//! The rules for what is done to a container while it runs: probes and hooks (`validateHandler` of core/v1).

use crate::machinery::faults::Faults;
use crate::machinery::names;
use serde_json::Value;

const SECONDS: [&str; 5] = [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
];

/// A rule for a handler at some place.
type HandlerRule = fn(&Value, &str, &mut Faults);

/// In the order in which the real server looks for them.
const HANDLERS: [(&str, HandlerRule); 5] = [
    ("exec", exec),
    ("httpGet", http_get),
    ("tcpSocket", socket),
    ("grpc", socket),
    ("sleep", |_, _, _| {}),
];

/// The rules for the probes and hooks of a container, in a pod that has so many seconds to end.
pub(super) fn validate(container: &Value, grace: &Value, at: &str, faults: &mut Faults) {
    for hook in ["postStart", "preStop"] {
        let (handlers, at) = (&container["lifecycle"][hook], format!("{at}.lifecycle.{hook}"));
        if !handlers.is_null() && handler(handlers, &at, faults) == Some("sleep") {
            sleep(&handlers["sleep"], grace, &format!("{at}.sleep"), faults);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = &container[name];
        if probe.is_null() {
            continue;
        }
        let at = format!("{at}.{name}");
        handler(probe, &at, faults);
        for field in SECONDS {
            if let Some(number) = probe[field].as_i64().filter(|number| *number < 0) {
                let field = format!("{at}.{field}");
                faults.invalid(field, number, "must be greater than or equal to 0");
            }
        }
        if let Some(grace) = probe["terminationGracePeriodSeconds"]
            .as_i64()
            .filter(|grace| *grace <= 0)
        {
            let field = format!("{at}.terminationGracePeriodSeconds");
            faults.invalid(field, grace, "must be greater than 0");
        }
        if name == "readinessProbe" && !probe["terminationGracePeriodSeconds"].is_null() {
            let field = format!("{at}.terminationGracePeriodSeconds");
            let grace = probe["terminationGracePeriodSeconds"].clone();
            faults.invalid(field, grace, "must not be set for readinessProbes");
        }
        let successes = &probe["successThreshold"];
        if name != "readinessProbe" && *successes != 1 {
            faults.invalid(format!("{at}.successThreshold"), successes.clone(), "must be 1");
        }
    }
}

/// A hook does not sleep longer than the pod has.
fn sleep(sleep: &Value, grace: &Value, at: &str, faults: &mut Faults) {
    let Some(grace) = grace.as_i64().filter(|_| !sleep.is_null()) else {
        return;
    };
    let seconds = sleep["seconds"].as_i64().unwrap_or_default();
    if seconds < 0 || seconds > grace {
        let text = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        faults.invalid(at, seconds, &text);
    }
}

/// Returns the handler that counts, where there is one.
fn handler(handlers: &Value, at: &str, faults: &mut Faults) -> Option<&'static str> {
    let mut present = HANDLERS.iter().filter(|(name, _)| !handlers[*name].is_null());
    let Some((first, rule)) = present.next() else {
        faults.required(at, "must specify a handler type");
        return None;
    };
    rule(&handlers[*first], &format!("{at}.{first}"), faults);
    for (name, _) in present {
        faults.forbidden(format!("{at}.{name}"), "may not specify more than 1 handler type");
    }
    Some(first)
}

fn exec(action: &Value, at: &str, faults: &mut Faults) {
    if action["command"].as_array().is_none_or(Vec::is_empty) {
        faults.required(format!("{at}.command"), "");
    }
}

fn http_get(action: &Value, at: &str, faults: &mut Faults) {
    if action["path"].as_str().unwrap_or_default().is_empty() {
        faults.required(format!("{at}.path"), "");
    }
    socket(action, at, faults);
    let scheme = action["scheme"].as_str().unwrap_or_default();
    faults.one_of(&format!("{at}.scheme"), scheme, &["HTTP", "HTTPS"]);
    for header in action["httpHeaders"].as_array().into_iter().flatten() {
        let name = header["name"].as_str().unwrap_or_default();
        faults.complain(&format!("{at}.httpHeaders"), name, names::http_header(name));
    }
}

/// The rules for a port, by number or by name.
fn socket(action: &Value, at: &str, faults: &mut Faults) {
    let field = format!("{at}.port");
    match &action["port"] {
        Value::String(name) => faults.complain(&field, name, names::port(name)),
        number => faults.port(&field, number.as_i64().unwrap_or_default()),
    }
}
