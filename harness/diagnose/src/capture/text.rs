//! The text of a captured case file: a header that states the origin of the case and what was omitted, followed by one line per object.

use std::fmt::Write as _;

use serde_json::Value;

use super::content::{Content, ExpectedResult};
use super::options::CaptureOptions;
use capacity_types::flow::{format_flow, scalar};

/// How long a pod must remain without a node in the case, so that every event that could make it schedulable has had an effect.
const UNPLACED_FOR: &str = "1s";
/// How long the CSIStorageCapacity objects must remain unchanged in the case.
const PUBLISHED_FOR: &str = "2 refreshes";

const HEAD: &str = "\
# Pods and claims are in the namespace default here. Other pods are included if more than their resource requests affects scheduling.
# The remaining pods of a node are replaced by one pod per priority, and their volumes reduce the volume limits. Everything that does not
# affect scheduling is left out. The expectations describe the captured state. Change them to the intended state to get a test.
";

impl Content {
    /// The text of the case file: header, cluster, and steps with expectations.
    pub(super) fn text(&self, options: &CaptureOptions) -> String {
        let program = options.program;
        let mut out = format!(
            "# Captured from a cluster. It runs with `{program} repro FILE`, and `{program} up FILE` serves it to kubectl.\n{HEAD}"
        );
        for sentence in &self.omissions {
            let _ = writeln!(out, "# Left out: {sentence}.");
        }
        let subject = match self.expected.as_slice() {
            [(pod, _)] => pod.clone(),
            _ => self.driver["name"].as_str().unwrap_or_default().to_owned(),
        };
        let capacities = self.capacities.len().max(self.backend.len());
        let _ = write!(
            out,
            "id: captured/{}\ntitle: {}\ncluster:\n  roles: {}\n  driver: {}\n",
            id_word(&subject),
            scalar(&format!(
                "{subject} as captured: {} nodes, {capacities} capacity objects",
                self.nodes.len()
            )),
            if options.publisher {
                "[publisher, scheduler]"
            } else {
                "[scheduler]"
            },
            format_flow(&self.driver),
        );
        write_list(&mut out, "nodes", &self.nodes);
        write_list(&mut out, "classes", &self.classes);
        if !self.backend.is_empty() {
            out.push_str("  backend:\n");
            for (segment, pool) in &self.backend {
                let _ = writeln!(out, "    {}: {}", scalar(segment), format_flow(pool));
            }
        }
        write_list(&mut out, "capacityObjects", &self.capacities);
        write_list(&mut out, "objects", &self.objects);
        out.push_str("steps:\n  - id: situation\n");
        if !self.answers.is_empty() {
            out.push_str("    do:\n");
            for answer in &self.answers {
                let _ = writeln!(out, "      - {}", format_flow(answer));
            }
        }
        self.expectations(&mut out);
        out
    }

    fn expectations(&self, out: &mut String) {
        out.push_str("    expect:\n");
        for (pod, (result, why)) in &self.expected {
            let pod = scalar(pod);
            let expected = match result {
                ExpectedResult::OnNode(node) => format!("placement: {{{pod}: {}}}", scalar(node)),
                ExpectedResult::Placed => format!("placement: {{{pod}: any}}"),
                ExpectedResult::Unschedulable => format!("placement: {{{pod}: none}}"),
                ExpectedResult::NotAttempted => format!(
                    "objects: [{{resource: pods, name: {pod}, fields: {{spec: {{nodeName: null}}}}}}]"
                ),
            };
            let _ = writeln!(out, "      - {expected}");
            // A pending pod could still be scheduled a moment later, whereas a scheduled pod keeps its node.
            if let ExpectedResult::Unschedulable | ExpectedResult::NotAttempted = result {
                let _ = writeln!(out, "        stays: {UNPLACED_FOR}");
            }
            let _ = writeln!(out, "        why: {}", scalar(why));
        }
        if self.expected.is_empty() {
            let expected = match self.published.is_null() {
                true => format!(
                    "objects: [{{resource: csistoragecapacities, count: {}}}]",
                    self.capacities.len()
                ),
                false => format!(
                    "capacities: {}\n        stays: {PUBLISHED_FOR}",
                    format_flow(&self.published)
                ),
            };
            let _ = writeln!(
                out,
                "      - {expected}\n        why: the captured cluster was in this state"
            );
        }
    }
}

fn write_list(out: &mut String, name: &str, items: &[Value]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(out, "  {name}:");
    for item in items {
        let _ = writeln!(out, "    - {}", format_flow(item));
    }
}

/// Converts a name to a part of a case id: lower-case letters, digits and dashes.
fn id_word(name: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | '0'..='9' => c,
        'A'..='Z' => c.to_ascii_lowercase(),
        _ => '-',
    };
    let word: String = name.chars().map(plain).collect();
    if word.is_empty() {
        "situation".to_owned()
    } else {
        word
    }
}
