//! Types that expressions name.

use super::types::CelType;

const NAMES: [&str; 15] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
    "optional_type",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "net.IP",
    "net.CIDR",
];

/// A name that stands for a type, where no variable has it.
pub(super) fn type_name(name: &str) -> Option<&'static str> {
    NAMES.iter().find(|known| **known == name).copied()
}

/// What such a name stands for.
pub(super) fn type_named(name: &str) -> Option<CelType<'static>> {
    Some(match type_name(name)? {
        "bool" => CelType::Bool,
        "bytes" => CelType::Bytes,
        "double" => CelType::Double,
        "int" => CelType::Int,
        "list" => CelType::list(CelType::Dyn),
        "map" => CelType::map(CelType::Dyn, CelType::Dyn),
        "null_type" => CelType::Null,
        "string" => CelType::Text,
        "type" => CelType::Type(CelType::Dyn.into()),
        "uint" => CelType::Uint,
        "optional_type" => CelType::optional(CelType::Dyn),
        "google.protobuf.Timestamp" => CelType::Time,
        "google.protobuf.Duration" => CelType::Duration,
        library => CelType::Library(library),
    })
}
