//! A choice of one kind of cases, without scripts: buttons, and rules of style by which the others are not shown. Where a browser does not
//! know the rules, all cases are shown.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

use super::super::{CaseRecord, Report};

/// What comes first in the id of a case, as far as it is a word: the attribute by which cases are chosen.
pub(super) fn kind(case: &CaseRecord) -> &str {
    let first = case.id.split('/').next().unwrap_or_default();
    let is_word = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    match first.chars().all(is_word) {
        true => first,
        false => "other",
    }
}

/// A button for each kind; nothing where there is no choice.
pub(super) fn buttons(report: &Report) -> Markup {
    let kinds: BTreeSet<&str> = report.cases.iter().map(kind).collect();
    if kinds.len() < 2 {
        return Markup::default();
    }
    // Elements without content, which `maud` does not close as XML wants it. All that stands in them are words.
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
