//! Names that the API and CSI have for everybody: a typing error in one must not pass as "never seen". Knows no case.

use std::collections::BTreeMap;

use fake_csi::{Code, Method, code_from_name, code_name};

use crate::alike::did_you_mean;

/// A CSI method.
pub(super) fn method(text: &str) -> Result<Method, String> {
    let unknown = |_| {
        let all: Vec<&str> = Method::all().map(Method::as_str).collect();
        let guess = did_you_mean(text, all.iter().copied());
        format!("`{text}` is no CSI method{guess}; methods: {}", all.join(", "))
    };
    text.parse().map_err(unknown)
}

/// A gRPC code under its name in the CSI specification.
pub(super) fn code(text: &str) -> Result<Code, String> {
    code_from_name(text).ok_or_else(|| {
        let all: Vec<&str> = (0..=16).map(|number| code_name(Code::from(number))).collect();
        let guess = did_you_mean(text, all.iter().copied());
        format!("`{text}` is no gRPC code{guess}; codes: {}", all.join(", "))
    })
}

/// The names of what is defined, for a message.
pub(super) fn names<T>(map: &BTreeMap<String, T>) -> String {
    map.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}
