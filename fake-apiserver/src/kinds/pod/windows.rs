//! The rules for what only nodes with Windows read of pods: credentials and the user of a process.

use crate::machinery::faults::Faults;
use crate::machinery::names;
use serde_json::Value;

const CREDENTIALS_BYTES_MAX: usize = 64 * 1024;
const DOMAIN_BYTES: usize = 256;
const USER_BYTES_MAX: usize = 104;
const NET_BIOS_BYTES_MAX: usize = 15;
const DNS_LABEL_BYTES_MAX: usize = 63;

/// The rules for `windowsOptions` of a pod or container.
pub(super) fn options(options: &Value, at: &str, faults: &mut Faults) {
    if let Some(name) = options["gmsaCredentialSpecName"].as_str() {
        faults.complain(
            &format!("{at}.gmsaCredentialSpecName"),
            name,
            names::subdomain(name),
        );
    }
    if let Some(credentials) = options["gmsaCredentialSpec"].as_str() {
        let why = match credentials.len() {
            0 => "gmsaCredentialSpec cannot be an empty string",
            length if length > CREDENTIALS_BYTES_MAX => "gmsaCredentialSpec size must be under 64 KiB",
            _ => "",
        };
        if !why.is_empty() {
            faults.invalid(format!("{at}.gmsaCredentialSpec"), credentials, why);
        }
    }
    if let Some(name) = options["runAsUserName"].as_str() {
        for why in user_faults(name) {
            faults.invalid(
                format!("{at}.runAsUserName"),
                name,
                &format!("runAsUserName{why}"),
            );
        }
    }
}

/// What is wrong with a user, with or without a domain before a backslash.
fn user_faults(name: &str) -> Vec<&'static str> {
    if name.is_empty() {
        return vec![" cannot be an empty string"];
    }
    if name.bytes().any(|byte| byte.is_ascii_control()) {
        return vec![" cannot contain control characters"];
    }
    let (domain, user) = match name.split_once('\\') {
        Some((_, user)) if user.contains('\\') => return vec![" cannot contain more than one backslash"],
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    let mut out = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= DOMAIN_BYTES {
            out.push("'s Domain length must be under 256 characters");
        }
        if !is_net_bios(domain) && !domain.split('.').all(is_dns_label) {
            out.push("'s Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if user.is_empty() {
        out.push("'s User cannot be empty");
    } else if user.len() > USER_BYTES_MAX {
        out.push("'s User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.chars().all(|sign| ". ".contains(sign)) {
        out.push("'s User cannot contain only periods or spaces");
    }
    if user.contains(|sign| "\"/\\:;|=,+*?<>@[]".contains(sign)) {
        out.push("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    }
    out
}

fn is_net_bios(domain: &str) -> bool {
    let length = domain.chars().count();
    (1..=NET_BIOS_BYTES_MAX).contains(&length)
        && !domain.starts_with('.')
        && !domain.contains(|sign| "\\/:*?\"<>|".contains(sign))
}

fn is_dns_label(label: &str) -> bool {
    let is_word = |end: Option<char>| end.is_some_and(|end| end.is_ascii_alphanumeric());
    label.len() <= DNS_LABEL_BYTES_MAX
        && is_word(label.chars().next())
        && is_word(label.chars().next_back())
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
