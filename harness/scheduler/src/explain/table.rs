//! An explanation as text for people: short lines, one table for each node.

use std::fmt;

use super::{Explanation, NodeClaim, NodeView, ObjectView};
use crate::lint::Finding;

/// Unset figures.
const UNSET: &str = "-";
/// The columns of objects.
const COLUMNS: [&str; 6] = ["object", "class", "nodes", "capacity", "maximum", "why"];

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.subject)?;
        writeln!(f, "  {}", self.verdict)?;
        if let Some(preemption) = &self.preemption {
            writeln!(f, "  {preemption}")?;
        }
        for claim in &self.claims {
            let request = claim.request.as_deref().unwrap_or("no size");
            writeln!(
                f,
                "  claim {}: {request} of class {}, {}",
                claim.claim, claim.class, claim.state
            )?;
        }
        for node in &self.nodes {
            node.fmt(f)?;
        }
        for finding in &self.findings {
            finding.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for NodeView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match (self.fits, self.score) {
            (true, Some(score)) => format!("fits, score {score}"),
            (true, None) => "fits".to_owned(),
            (false, _) => self.reasons.join(", "),
        };
        writeln!(f, "\n{}  {verdict}", self.node)?;
        for obstacle in &self.obstacles {
            writeln!(f, "  {obstacle}")?;
        }
        self.claims.iter().try_for_each(|claim| claim.fmt(f))
    }
}

impl fmt::Display for NodeClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}: {}", self.claim, self.outcome)?;
        if !self.objects.is_empty() {
            objects(f, &self.objects)?;
        }
        if self.more > 0 {
            writeln!(f, "    and {} more of the class", self.more)?;
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

fn objects(f: &mut fmt::Formatter<'_>, objects: &[ObjectView]) -> fmt::Result {
    let row = |object: &ObjectView| {
        let figure = |figure: &Option<String>| figure.clone().unwrap_or_else(|| UNSET.to_owned());
        [
            object.object.clone(),
            object.class.clone(),
            object.topology.clone(),
            figure(&object.capacity),
            figure(&object.maximum_volume_size),
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
