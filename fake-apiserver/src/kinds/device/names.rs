//! Names of devices' attributes and capacities: an identifier, which a driver's domain may precede.

use crate::kinds::volume::driver_name;
use crate::machinery::faults::Faults;
use crate::machinery::names;

const POOL_BYTES_MAX: usize = 253;
const IDENTIFIER_BYTES_MAX: usize = 32;
const NO_IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
    characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

/// The rules for a name with a domain or without. One with several slashes is let through.
pub(super) fn qualified(name: &str, field: &str, faults: &mut Faults) {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [id] => identifier(id, field, faults),
        [domain, id] => {
            match *domain {
                "" => faults.invalid(field, "", "the domain must not be empty"),
                domain => driver_name(domain, field, faults),
            }
            match *id {
                "" => faults.invalid(field, "", "the name must not be empty"),
                id => identifier(id, field, faults),
            }
        }
        _ => {}
    }
}

/// The rules for the name of a pool: subdomains with slashes between them.
pub(super) fn pool(name: &str, field: &str, faults: &mut Faults) {
    if name.is_empty() {
        return faults.required(field, "");
    }
    if name.len() > POOL_BYTES_MAX {
        faults.too_long(field, POOL_BYTES_MAX);
    }
    for part in name.split('/') {
        faults.complain(field, part, names::subdomain(part));
    }
}

/// The rules for a name that has a domain.
pub(super) fn fully_qualified(name: &str, field: &str, faults: &mut Faults) {
    qualified(name, field, faults);
    if !name.contains('/') {
        let text = "a fully qualified name must be a domain and a name separated by a slash";
        faults.invalid(field, name, text);
    }
}

fn identifier(id: &str, field: &str, faults: &mut Faults) {
    if id.len() > IDENTIFIER_BYTES_MAX {
        faults.too_long(field, IDENTIFIER_BYTES_MAX);
    }
    let is_one = id.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && id.chars().all(|each| each.is_ascii_alphanumeric() || each == '_');
    if !is_one {
        faults.invalid(field, id, NO_IDENTIFIER);
    }
}
