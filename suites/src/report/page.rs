//! Self-contained HTML pages without unprintable characters. Does not know reports.
//!
//! No scripts and no external styles or fonts. `maud` escapes all text. The output is also well-formed XML, so that tests can parse it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::escape::printable;

const STYLE: &str = include_str!("page.css");

/// Written as text, because `maud` does not close `meta` as well-formed XML requires.
const META: &str = "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
                    <meta name=\"color-scheme\" content=\"light dark\"/>\n";

/// A complete page.
pub fn page(title: &str, body: &Markup) -> String {
    html_file_text(&html! {
        (DOCTYPE) "\n"
        html lang="en" {
            head {
                (PreEscaped(META))
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    })
}

/// The markup as the content of an HTML file, without unprintable characters.
pub(super) fn html_file_text(markup: &Markup) -> String {
    printable(&markup.0) + "\n"
}
