//! A page that needs nothing else, and texts of markup in which nothing stands that can't be shown. Knows no report.
//!
//! No script, no link to a style or a font: what is seen is in the file. Texts are escaped by `maud` wherever they stand. What is written is
//! well-formed XML too, so that a parser can hold it to that.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::escape::printable;

/// What pages look like.
const STYLE: &str = include_str!("page.css");

/// `maud` writes elements that have no content as HTML has them, which no parser of XML reads.
const META: &str = "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
                    <meta name=\"color-scheme\" content=\"light dark\"/>\n";

/// A whole page.
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

/// The text of a file.
pub(super) fn written(markup: &Markup) -> String {
    printable(&markup.0) + "\n"
}
