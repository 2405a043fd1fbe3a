//! Parses names that the API and the CSI spec define, so that a typo is an error instead of a fact that never occurs. Does not know any
//! case.

use std::collections::BTreeMap;

use fake_csi::{Code, Method, code_from_name, code_name};

use crate::alike::did_you_mean;

/// Parses the name of a CSI method, such as `GetCapacity`.
pub(super) fn method(text: &str) -> Result<Method, String> {
    let unknown = |_| {
        let all: Vec<&str> = Method::all().map(Method::as_str).collect();
        let guess = did_you_mean(text, all.iter().copied());
        format!("`{text}` is no CSI method{guess}; methods: {}", all.join(", "))
    };
    text.parse().map_err(unknown)
}

/// Parses the name of a gRPC code, spelled as in the CSI spec.
pub(super) fn code(text: &str) -> Result<Code, String> {
    code_from_name(text).ok_or_else(|| {
        let all: Vec<&str> = (0..=16).map(|number| code_name(Code::from(number))).collect();
        let guess = did_you_mean(text, all.iter().copied());
        format!("`{text}` is no gRPC code{guess}; codes: {}", all.join(", "))
    })
}

/// Lists the keys of a map for an error message about an undefined name.
pub(super) fn join_names<T>(map: &BTreeMap<String, T>) -> String {
    map.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}
