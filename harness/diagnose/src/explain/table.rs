//! Formats an explanation as text: one short line per fact, and a table of CSIStorageCapacity objects per node.

use std::collections::BTreeMap;
use std::fmt;

use super::{Explanation, NodeClaim, NodeView, ObjectView};
use crate::lint::Finding;

const UNSET: &str = "-";
const COLUMNS: [&str; 6] = ["object", "class", "nodes", "capacity", "maximum", "why"];

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.subject)?;
        writeln!(f, "  {}", self.verdict)?;
        if let Some(preemption) = &self.preemption {
            writeln!(f, "  {preemption}")?;
        }
        if let Some(condition) = &self.condition {
            writeln!(f, "  at the scheduler's last attempt: {condition}")?;
        }
        for cause in &self.causes {
            writeln!(f, "  cause: {cause}")?;
        }
        for claim in &self.claims {
            let request = claim.request.as_deref().unwrap_or("no size");
            writeln!(
                f,
                "  claim {}: {request} of class {}, {}",
                claim.claim, claim.class, claim.state
            )?;
        }
        let is_wide = f.alternate();
        for nodes in group_by(&self.nodes, NodeView::verdict) {
            match nodes.as_slice() {
                [first, .., _] if !is_wide && nodes.len() > LISTED_MAX => write_group(f, first, &nodes)?,
                nodes => nodes.iter().try_for_each(|node| node.fmt(f))?,
            }
        }
        for findings in group_by(&self.findings, |finding| (finding.code, finding.class.clone())) {
            let shown = if is_wide { findings.len() } else { LISTED_MAX };
            findings
                .iter()
                .take(shown)
                .try_for_each(|finding| finding.fmt(f))?;
            if findings.len() > shown {
                writeln!(
                    f,
                    "\nand {} more of [{}]; -o wide shows them",
                    findings.len() - shown,
                    findings[0].code
                )?;
            }
        }
        Ok(())
    }
}

/// Maximum number of similar nodes or findings that are listed individually.
const LISTED_MAX: usize = 4;

/// Groups items by key. The groups have the order of their first items.
fn group_by<T, K: Ord>(items: &[T], key: impl Fn(&T) -> K) -> Vec<Vec<&T>> {
    let mut indices = BTreeMap::new();
    let mut groups: Vec<Vec<&T>> = Vec::new();
    for item in items {
        let index = *indices.entry(key(item)).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

/// Writes the verdict that a group of nodes shares, and the obstacles of the first node.
fn write_group(f: &mut fmt::Formatter<'_>, first: &NodeView, nodes: &[&NodeView]) -> fmt::Result {
    writeln!(f, "\n{} nodes  {}", nodes.len(), first.verdict())?;
    writeln!(
        f,
        "  {} to {}; -o wide shows all, details of {}:",
        first.node,
        nodes.last().map_or("", |last| &last.node),
        first.node
    )?;
    first.details(f)
}

impl NodeView {
    fn verdict(&self) -> String {
        match (self.fits, self.score) {
            (true, Some(score)) => format!("fits, score {score}"),
            (true, None) => "fits".to_owned(),
            (false, _) => self.reasons.join(", "),
        }
    }

    fn details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for obstacle in &self.obstacles {
            writeln!(f, "  {obstacle}")?;
        }
        self.claims
            .iter()
            .try_for_each(|claim| fmt::Display::fmt(claim, f))
    }
}

impl fmt::Display for NodeView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}  {}", self.node, self.verdict())?;
        self.details(f)
    }
}

impl fmt::Display for NodeClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}: {}", self.claim, self.outcome)?;
        if !self.objects.is_empty() {
            write_objects(f, &self.objects)?;
        }
        if self.more > 0 {
            writeln!(f, "    and {} more objects of the class", self.more)?;
        }
        Ok(())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}: {} [{}]", self.object, self.message, self.code)?;
        writeln!(f, "  {}", self.advice)
    }
}

/// Truncates a text to the column width, unless `is_wide`.
fn truncate(text: &str, is_wide: bool) -> String {
    /// Column width in characters.
    const WIDTH: usize = 44;
    match is_wide || text.chars().count() <= WIDTH {
        true => text.to_owned(),
        false => text.chars().take(WIDTH - 1).chain(['…']).collect(),
    }
}

fn write_objects(f: &mut fmt::Formatter<'_>, objects: &[ObjectView]) -> fmt::Result {
    let is_wide = f.alternate();
    let row = |object: &ObjectView| {
        let text_or_dash = |quantity: &Option<String>| quantity.clone().unwrap_or_else(|| UNSET.to_owned());
        [
            object.object.clone(),
            object.class.clone(),
            truncate(&object.topology, is_wide),
            text_or_dash(&object.capacity),
            text_or_dash(&object.maximum_volume_size),
            object.why.clone(),
        ]
    };
    let rows: Vec<_> = [COLUMNS.map(str::to_owned)]
        .into_iter()
        .chain(objects.iter().map(row))
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: [usize; COLUMNS.len()] = std::array::from_fn(width);
    for row in &rows {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let line: Vec<_> = cells.collect();
        writeln!(f, "    {}", line.join("  ").trim_end())?;
    }
    Ok(())
}
