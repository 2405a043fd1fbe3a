//! Buttons that show only one kind of cases, without scripts: radio buttons and CSS rules that hide the other kinds. Browsers without
//! support show all cases.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::super::{CaseRecord, Report};

/// First segment of the case id, if it is a plain word; the value of the filter attribute.
pub(super) fn kind(case: &CaseRecord) -> &str {
    let first = case.id.split('/').next().unwrap_or_default();
    let is_word = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    match first.chars().all(is_word) {
        true => first,
        false => "other",
    }
}

/// A button per kind of cases; empty if the report contains only one kind.
pub(super) fn buttons(report: &Report) -> Markup {
    let kinds: BTreeSet<&str> = report.cases.iter().map(kind).collect();
    if kinds.len() < 2 {
        return Markup::default();
    }
    // Written as text, because `maud` does not close `input` as XML requires. Needs no escapes: kinds are plain words.
    let mut buttons = button("all", "all", true);
    let mut rules = String::new();
    for kind in kinds {
        buttons += &button(kind, kind, false);
        let _ = writeln!(
            rules,
            "body:has(#only-{kind}:checked) [data-kind]:not([data-kind={kind}]) {{ display: none; }}"
        );
    }
    html! {
        fieldset.filter {
            legend { "Cases" }
            (PreEscaped(buttons))
        }
        style { (PreEscaped(rules)) }
    }
}

fn button(id: &str, name: &str, is_checked: bool) -> String {
    let checked = if is_checked { " checked=\"checked\"" } else { "" };
    format!("<label><input type=\"radio\" name=\"kind\" id=\"only-{id}\"{checked}/> {name}</label>\n")
}
