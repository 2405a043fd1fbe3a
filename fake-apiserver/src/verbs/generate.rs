//! Generated names, for `metadata.generateName` and for objects that the server creates.

use crate::kinds::Kind;
use crate::machinery::metadata;
use crate::store::Txn;
use rand::RngExt;
use serde_json::Value;

/// Characters of generated names. Without vowels, so that names contain no words.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// Maximum length of the part before the random suffix: names have at most 63 characters, 5 of them random.
const GENERATED_BASE: usize = 58;
const GENERATED_SUFFIX: usize = 5;
const GENERATE_ATTEMPTS: usize = 8;

/// Sets the name from `generateName`. Like kube-apiserver, retries a few times if the name exists.
pub(super) fn generate_name(txn: &mut Txn<'_>, kind: &Kind, object: &mut Value) {
    let base = metadata::text(object, "generateName").to_owned();
    if base.is_empty() || !metadata::text(object, "name").is_empty() {
        return;
    }
    let namespace = metadata::text(object, "namespace").to_owned();
    let base: String = base.chars().take(GENERATED_BASE).collect();
    for _ in 0..GENERATE_ATTEMPTS {
        let name = format!("{base}{}", random_suffix(txn));
        let free = txn.get(kind, &kind.key(Some(&namespace), &name)).is_none();
        metadata::set(object, "name", Some(name.into()));
        if free {
            return;
        }
    }
}

/// Five random characters, the end of a generated name.
pub(super) fn random_suffix(txn: &mut Txn<'_>) -> String {
    (0..GENERATED_SUFFIX)
        .map(|_| char::from(ALPHABET[txn.random().random_range(0..ALPHABET.len())]))
        .collect()
}
