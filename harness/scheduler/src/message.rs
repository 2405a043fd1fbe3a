//! The texts of a failed attempt, as kube-scheduler 1.36 writes them in its default configuration.
//!
//! That includes what other plugins' noise adds there (`no new claims to deallocate`, a trailing `not found`): people
//! compare these texts. Whoever judges other versions should look only for `<count> <reason>`.

use std::collections::BTreeMap;

/// The greatest length of an event's note, in bytes.
const NOTE_MAX: usize = 1024;
/// What a cut note ends in.
const CUT: &str = " ...";
/// There is no node at all.
pub const NO_NODES: &str = "no nodes available to schedule pods";

/// The text for a pod that no node can take, whatever the nodes are.
pub fn unready(nodes: usize, reason: &str) -> String {
    format!("0/{nodes} nodes are available: {reason}. not found")
}

/// The text for a pod that each node refused, given every node's reasons.
pub fn refused<'a>(nodes: usize, reasons: impl IntoIterator<Item = &'a str>, never_preempts: bool) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    let mut histogram: Vec<_> = counts
        .into_iter()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    // Sorted as texts, so 10 comes before 2.
    histogram.sort();
    let preemption = if never_preempts {
        "not eligible due to preemptionPolicy=Never.".to_owned()
    } else {
        format!("0/{nodes} nodes are available: {nodes} Preemption is not helpful for scheduling.")
    };
    format!(
        "0/{nodes} nodes are available: {}. no new claims to deallocate, preemption: {preemption}",
        histogram.join(", ")
    )
}

/// The text cut to what an event's note may hold.
pub fn note(text: &str) -> String {
    if text.len() <= NOTE_MAX {
        return text.to_owned();
    }
    let mut end = NOTE_MAX - CUT.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: &str = "node(s) did not have enough free storage";
    const CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";

    #[test]
    fn texts_are_those_of_kubernetes() {
        assert_eq!(
            refused(3, [SPACE; 3], false),
            "0/3 nodes are available: 3 node(s) did not have enough free storage. no new claims to deallocate, \
             preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
        );
        assert!(refused(3, [SPACE; 3], true).ends_with(
            "storage. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."
        ));
        assert_eq!(
            unready(3, "pod has unbound immediate PersistentVolumeClaims"),
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
        );
    }

    #[test]
    fn the_histogram_is_sorted_as_text() {
        let reasons = [[SPACE; 10].as_slice(), &[CONFLICT; 2]].concat();
        let text = refused(12, reasons, false);
        assert!(
            text.contains(&format!("available: 10 {SPACE}, 2 {CONFLICT}. no new")),
            "{text}"
        );
    }

    #[test]
    fn long_notes_are_cut_at_1024_bytes_between_characters() {
        assert_eq!(note("short"), "short");
        assert_eq!(note(&"x".repeat(1024)).len(), 1024);
        let cut = note(&"x".repeat(1025));
        assert_eq!((cut.len(), &cut[1018..]), (1024, "xx ..."));
        assert_eq!(note(&"é".repeat(600)).len(), 1024);
    }
}
