//! How the real server shows objects of its own types in refusals: all members, in the order of the type, by their names
//! in Go.

use serde_json::Value;

/// What a value of one of the server's own types looks like.
pub(super) enum Form {
    /// A text, a number, or a list of texts: what is shown where it is missing.
    Plain(&'static str),
    /// An object that is always there.
    Whole(&'static [Member]),
    /// An object that may be missing.
    Maybe(&'static [Member]),
    List(&'static Form),
}

/// A member by its name on the wire and its name in Go.
pub(super) type Member = (&'static str, &'static str, Form);

pub(super) const TEXT: Form = Form::Plain("\"\"");
pub(super) const NUMBER: Form = Form::Plain("0");
pub(super) const FLAG: Form = Form::Plain("false");
/// What is not there unless it was set.
pub(super) const OPTIONAL: Form = Form::Plain("null");

/// A value as the server shows it.
pub(super) fn shown(value: &Value, form: &Form) -> String {
    match form {
        Form::Plain(nothing) if value.is_null() => (*nothing).to_owned(),
        Form::Plain(_) => value.to_string(),
        Form::Maybe(_) | Form::List(_) if value.is_null() => "null".to_owned(),
        Form::Whole(members) | Form::Maybe(members) => {
            let members = members.iter().map(|(name, called, form)| {
                let member = shown(&value[*name], form);
                format!("{called:?}:{member}")
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Form::List(form) => {
            let entries = value.as_array().into_iter().flatten();
            let entries: Vec<String> = entries.map(|entry| shown(entry, form)).collect();
            format!("[{}]", entries.join(","))
        }
    }
}
