//! `selftest.html`: one page without scripts; the matrix of defects and areas, and the failure of each claim as its reader sees it.

use std::collections::{BTreeMap, BTreeSet};

use super::markdown::headline;
use super::{DefectBite, SelftestReport};
use crate::report::STYLE;
use crate::report::escape::xml;

/// The page.
pub fn page(report: &SelftestReport) -> String {
    let title = xml(&headline(report));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n<header>\n<h1>{title}</h1>\n\
         <p class=\"quiet\">Each defect makes one of the references wrong on purpose. The case that claims a defect must fail \
         with it, and the first missing link of its failure must point at it; without a defect every case must pass.</p>\n\
         </header>\n<main>\n"
    );
    out.push_str(&problems(report));
    out.push_str(&matrix(report));
    out.push_str("<section>\n<h2>Defects</h2>\n");
    for defect in &report.defects {
        out.push_str(&article(defect));
    }
    out.push_str(&format!(
        "</section>\n</main>\n<footer>\n<p>Made by csi-capacity-harness {} with <code>cargo xtask {}</code> on {}: {} runs in {:.1} s. \
         The same record stands in <code>selftest.json</code>, format {}.</p>\n</footer>\n</body>\n</html>\n",
        xml(&report.harness),
        xml(&report.command.join(" ")),
        xml(&report.started),
        report.runs,
        report.seconds,
        report.format,
    ));
    out
}

fn problems(report: &SelftestReport) -> String {
    let lines: Vec<String> = report
        .problems
        .iter()
        .map(|problem| {
            let case = problem.case.as_deref().unwrap_or_default();
            format!("<li><code>{}</code> {}</li>\n", xml(case), xml(&problem.text))
        })
        .chain(report.undecided.iter().map(|open| {
            format!(
                "<li>undecided on a busy machine: <code>{}</code></li>\n",
                xml(open)
            )
        }))
        .collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!(
            "<section>\n<h2>To look at</h2>\n<ul>\n{}</ul>\n</section>\n",
            lines.concat()
        ),
    }
}

/// A row for each defect, a column for each area, and in a cell how many cases of the area caught it of those that ran.
fn matrix(report: &SelftestReport) -> String {
    let area = |id: &String| id.split('/').take(2).collect::<Vec<_>>().join("/");
    let ran = |defect: &DefectBite| {
        let mut cells: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for id in &defect.caught_by {
            cells.entry(area(id)).or_default().0 += 1;
        }
        for id in defect.caught_by.iter().chain(&defect.missed_by) {
            cells.entry(area(id)).or_default().1 += 1;
        }
        cells
    };
    let rows: Vec<_> = report
        .defects
        .iter()
        .map(|defect| (defect, ran(defect)))
        .collect();
    let areas: BTreeSet<&String> = rows.iter().flat_map(|(_, cells)| cells.keys()).collect();
    let mut out = "<section>\n<h2>Matrix</h2>\n<p>Cases that caught the defect, of those that ran with it.</p>\n\
                   <div class=\"wide\"><table class=\"matrix\">\n<thead><tr><th scope=\"col\">defect</th><th scope=\"col\">claim</th>"
        .to_owned();
    for area in &areas {
        out.push_str(&format!("<th scope=\"col\">{}</th>", xml(area)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (defect, cells) in &rows {
        out.push_str(&format!(
            "<tr><th scope=\"row\"><a href=\"#{0}\">{0}</a></th><td class=\"{1}\">{2}</td>",
            xml(&defect.name),
            class(defect),
            defect.word(),
        ));
        for area in &areas {
            out.push_str(&match cells.get(*area) {
                Some((0, all)) => format!("<td class=\"none\">0 of {all}</td>"),
                Some((caught, all)) => format!("<td>{caught} of {all}</td>"),
                None => "<td></td>".to_owned(),
            });
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n</section>\n");
    out
}

fn class(defect: &DefectBite) -> &'static str {
    match defect.word() {
        "caught" => "good",
        "-" => "none",
        _ => "bad",
    }
}

fn article(defect: &DefectBite) -> String {
    let mut out = format!(
        "<article id=\"{0}\">\n<h3><code>{0}</code> <span class=\"{1}\">{2}</span></h3>\n<p>{3}. After {4}.</p>\n",
        xml(&defect.name),
        class(defect),
        defect.word(),
        xml(&defect.text),
        xml(&defect.source),
    );
    for claim in &defect.claims {
        out.push_str(&format!(
            "<p class=\"reason\">{}: {}</p>\n",
            xml(&claim.case),
            xml(&claim.link)
        ));
        if let Some(text) = &claim.explanation {
            out.push_str(&format!(
                "<details><summary>The failure</summary>\n<pre>{}</pre>\n</details>\n",
                xml(text)
            ));
        }
    }
    out.push_str("</article>\n");
    out
}
