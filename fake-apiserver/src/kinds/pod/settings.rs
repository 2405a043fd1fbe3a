//! The rules for smaller members of a pod's spec: names of hosts, operating system, claims of devices, and when
//! containers start anew.
//!
//! Owns what stands by itself. What containers mount and ask for is elsewhere.

use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::machinery::names;
use serde_json::Value;
use std::collections::HashSet;
use std::net::IpAddr;

const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_BYTES_MAX: usize = 2048;
const RULES_MAX: usize = 20;

/// The rules for `dnsConfig`.
pub(super) fn dns(spec: &Value, at: &str, faults: &mut Faults) {
    let (config, at) = (&spec["dnsConfig"], format!("{at}.dnsConfig"));
    let (servers, searches) = (
        json::texts(&config["nameservers"]),
        json::texts(&config["searches"]),
    );
    if spec["dnsPolicy"] == "None" {
        if config.is_null() {
            return faults.required(at, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        if servers.is_empty() {
            let text = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return faults.required(format!("{at}.nameservers"), text);
        }
    }
    if servers.len() > NAMESERVERS_MAX {
        let text = format!("must not have more than {NAMESERVERS_MAX} nameservers");
        faults.invalid(format!("{at}.nameservers"), config["nameservers"].clone(), &text);
    }
    for (i, server) in servers.iter().enumerate() {
        if server.parse::<IpAddr>().is_err() {
            let text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            faults.invalid(format!("{at}.nameservers[{i}]"), *server, text);
        }
    }
    if searches.len() > SEARCHES_MAX {
        let text = format!("must not have more than {SEARCHES_MAX} search paths");
        faults.invalid(format!("{at}.searches"), config["searches"].clone(), &text);
    }
    if searches.join(" ").len() > SEARCH_BYTES_MAX {
        let text = format!(
            "must not have more than {SEARCH_BYTES_MAX} characters (including spaces) in the search list"
        );
        faults.invalid(format!("{at}.searches"), config["searches"].clone(), &text);
    }
    for (i, search) in searches.iter().enumerate().filter(|(_, search)| **search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        let field = format!("{at}.searches[{i}]");
        faults.complain(&field, search, names::underscored_subdomain(search));
    }
    for (i, option) in list(&config["options"]).iter().enumerate() {
        if string(option, "name").is_empty() {
            faults.required(format!("{at}.options[{i}]"), "must not be empty");
        }
    }
}

/// The rules for `resourceClaims`.
pub(super) fn claims(spec: &Value, at: &str, faults: &mut Faults) {
    let all = list(&spec["resourceClaims"]);
    let mut seen = HashSet::new();
    for (i, claim) in all.iter().enumerate() {
        let (at, name) = (format!("{at}.resourceClaims[{i}]"), string(claim, "name"));
        let field = format!("{at}.name");
        if name.is_empty() {
            faults.required(field, "");
        } else if !seen.insert(name) {
            faults.duplicate(field, name);
        } else {
            faults.complain(&field, name, names::label(name));
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        // The value that is shown is of the server's own type.
        let shown = format!(
            "{{\"Name\":{},\"ResourceClaimName\":{},\"ResourceClaimTemplateName\":{}}}",
            Value::from(name),
            claim[sources[0]],
            claim[sources[1]]
        );
        match sources.iter().filter(|source| !claim[**source].is_null()).count() {
            0 => {
                let text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                faults.invalid_as(at.as_str(), &shown, text);
            }
            1 => {}
            _ => {
                let text =
                    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
                faults.invalid_as(at.as_str(), &shown, text);
            }
        }
        for source in sources {
            if let Some(name) = claim[source].as_str() {
                faults.complain(&format!("{at}.{source}"), name, names::subdomain(name));
            }
        }
    }
}

/// The rules for `resizePolicy` of a container.
pub(super) fn resizes(container: &Value, never: bool, at: &str, faults: &mut Faults) {
    let at = format!("{at}.resizePolicy");
    let all = list(&container["resizePolicy"]);
    let mut seen = HashSet::new();
    for (i, policy) in all.iter().enumerate() {
        let (resource, restart) = (string(policy, "resourceName"), string(policy, "restartPolicy"));
        if !seen.insert(resource) {
            faults.duplicate(format!("{at}[{i}]"), resource);
        }
        let words: [(&str, &[&str]); 2] = [
            (resource, &["cpu", "memory"]),
            (restart, &["NotRequired", "RestartContainer"]),
        ];
        for (word, known) in words {
            match word {
                "" => faults.required(at.as_str(), ""),
                word => faults.one_of(&at, word, known),
            }
        }
        if never && restart != "NotRequired" {
            let text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            faults.invalid(at.as_str(), restart, text);
        }
    }
}

/// The rules for `restartPolicy` and `restartPolicyRules` of a container; those of one that runs before others come to nothing without a
/// policy.
pub(super) fn restarts(container: &Value, is_init: bool, at: &str, faults: &mut Faults) {
    let rules = list(&container["restartPolicyRules"]);
    let field = format!("{at}.restartPolicy");
    match container["restartPolicy"].as_str() {
        None if rules.is_empty() => return,
        None => {
            faults.required(field, "must specify restartPolicy when restart rules are used");
            if is_init {
                return;
            }
        }
        Some(policy) => faults.one_of(&field, policy, &["Always", "Never", "OnFailure"]),
    }
    if rules.len() > RULES_MAX {
        faults.too_many(format!("{at}.restartPolicyRules"), rules.len(), RULES_MAX);
    }
    for (i, rule) in rules.iter().enumerate() {
        let at = format!("{at}.restartPolicyRules[{i}]");
        let known = ["Restart", "RestartAllContainers"];
        faults.one_of(&format!("{at}.action"), string(rule, "action"), &known);
        let codes = &rule["exitCodes"];
        if codes.is_null() {
            faults.required(format!("{at}.exitCodes"), "must be specified");
        } else {
            let field = format!("{at}.exitCodes.operator");
            faults.one_of(&field, string(codes, "operator"), &["In", "NotIn"]);
        }
    }
}
