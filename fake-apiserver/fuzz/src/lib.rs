//! Fuzzing of all client input, through HTTP requests to a running server.
//!
//! Owns the table of fuzz targets: how input bytes become a request, and which property every response must have.
//! The same functions are run by `cargo fuzz` and, on seeds and mutated seeds, by the ordinary test `fuzzed`. Does not
//! know the server's internals.

mod answer;
mod bench;
mod bodies;
mod hook;
mod reviews;
mod rules;
mod texts;

pub use bench::Bench;

/// A fuzz target: turns bytes into requests; panics if a property is violated.
pub type Target = fn(&mut Bench, &[u8]);

/// All targets by name, which is also the name of their program in `fuzz_targets` and of their folder in `seeds`.
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

/// Runs a target on the bytes, with a server that all runs of the thread share.
pub fn run(name: &str, bytes: &[u8]) {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    let (_, target) = found.expect("the target exists");
    Bench::with(|bench| target(bench, bytes));
}
