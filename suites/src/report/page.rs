//! Self-contained HTML pages without unprintable characters. Does not know reports.
//!
//! No scripts and no external styles or fonts. `maud` escapes all text. The output is also well-formed XML, so that tests can parse it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::escape::printable;

const STYLE: &str = include_str!("page.css");

/// `maud` writes void elements as HTML, which is no well-formed XML.
const META: &str = "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
                    <meta name=\"color-scheme\" content=\"light dark\"/>\n";

/// A complete page.
pub fn page(title: &str, body: &Markup) -> String {
    written(&html! {
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

/// The content of an HTML file.
pub(super) fn written(markup: &Markup) -> String {
    printable(&markup.0) + "\n"
}
