//! Fuzz targets for all client input, sent as HTTP requests to a running server.
//!
//! Owns the table of fuzz targets: how input bytes become a request, and which property every response must have. `cargo fuzz` runs the
//! targets; the ordinary test `fuzzed` runs them on seeds and mutated seeds. Does not know the server's internals.

mod answer;
mod bench;
mod bodies;
mod hook;
mod reviews;
mod rules;
mod texts;

pub use bench::Bench;

/// A fuzz target: sends requests built from bytes, and panics if a property is violated.
pub type Target = fn(&mut Bench, &[u8]);

/// All fuzz targets by name. Each has a program in `fuzz_targets` and a folder in `seeds` with the same name.
pub const TARGETS: [(&str, Target); 22] = [
    ("accept", texts::accept),
    ("apply_patch", bodies::apply_patch),
    ("continue_token", texts::continue_token),
    ("delete_options", bodies::delete_options),
    ("field_selector", texts::field_selector),
    ("forms", bodies::forms),
    ("json_body", bodies::json_body),
    ("json_patch", bodies::json_patch),
    ("json_path", rules::json_path),
    ("label_selector", texts::label_selector),
    ("managed_fields", bodies::managed_fields),
    ("merge_patch", bodies::merge_patch),
    ("path", texts::path),
    ("pattern", rules::pattern),
    ("protobuf_body", bodies::protobuf_body),
    ("quantity", texts::quantity),
    ("rule", rules::rule),
    ("schema", rules::schema),
    ("strategic_patch", bodies::strategic_patch),
    ("subresource_body", bodies::subresource_body),
    ("webhook_answer", reviews::webhook_answer),
    ("yaml_body", bodies::yaml_body),
];

/// Runs a fuzz target on the bytes. All runs of a thread share one server.
pub fn run(name: &str, bytes: &[u8]) {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = found.expect("the target exists");
    Bench::with(|bench| target(bench, bytes));
}
