//! Messages of failed attempts, as the kube-scheduler of each release writes them in its default configuration.
//!
//! Messages include what other plugins append (`no new claims to deallocate`, a trailing `not found`), because tests compare the whole
//! text. Tests that cover several releases should only search for `<count> <reason>`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::objects::Taint;

/// Maximum length of an Event's note, in bytes.
const NOTE_MAX: usize = 1024;
/// Suffix of a truncated note.
const CUT: &str = " ...";
/// Message if the cluster has no nodes.
pub const NO_NODES: &str = "no nodes available to schedule pods";

/// The wording of messages in a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wording {
    /// Before 1.24: the reasons only. A reason that applies to every node is counted for each node.
    Plain,
    /// 1.24 and 1.25: adds whether preemption would help (kubernetes/kubernetes#107775).
    WithPreemption,
    /// 1.26 to 1.29: a reason for all nodes is written once (#110894), and the text ends with two periods (#123301).
    TwoPeriods,
    /// 1.30 to 1.33, and from 1.37 on: ends with one period.
    OnePeriod,
    /// 1.34 to 1.36: adds the text of the DynamicResources plugin, even for pods without resource claims.
    #[default]
    DynamicResources,
}

/// The result of preemption, reduced to what messages contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreemptionOutcome<'a> {
    /// The pod has `preemptionPolicy: Never`.
    Never,
    /// The victims of an earlier preemption are still terminating.
    VictimsTerminating,
    /// Pods are evicted. The message does not mention the eviction.
    Evicts,
    /// Preemption would help on no node. Contains the reason of each node.
    NotHelpful(&'a [Cow<'static, str>]),
}

/// Message for a pod that fits no node, for a reason that does not depend on the node.
pub fn pre_filter_rejection(
    wording: Wording,
    nodes: usize,
    reason: &str,
    preemption: &PreemptionOutcome<'_>,
) -> String {
    let prefix = match wording {
        Wording::Plain | Wording::WithPreemption => {
            format!("0/{nodes} nodes are available: {nodes} {reason}.")
        }
        _ => format!("0/{nodes} nodes are available: {reason}."),
    };
    match wording {
        Wording::DynamicResources => format!("{prefix} not found"),
        _ => prefix + &wording.preemption_suffix(nodes, preemption),
    }
}

/// Message for a pod that every node rejected, from the reasons of each node.
pub fn rejection(
    wording: Wording,
    nodes: usize,
    reasons: impl IntoIterator<Item = Cow<'static, str>>,
    preemption: &PreemptionOutcome<'_>,
) -> String {
    let mut counts: BTreeMap<Cow<'static, str>, usize> = BTreeMap::new();
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    let histogram = format_reason_counts(counts);
    let suffix = wording.preemption_suffix(nodes, preemption);
    format!("0/{nodes} nodes are available: {histogram}.{suffix}")
}

/// Message for a pod that every node rejected, without node counts.
pub fn plain_rejection(reasons: impl IntoIterator<Item = Cow<'static, str>>) -> String {
    let reasons: BTreeSet<Cow<'static, str>> = reasons.into_iter().collect();
    let reasons: Vec<_> = reasons.iter().map(AsRef::as_ref).collect();
    format!("the pod fits no node: {}", reasons.join("; "))
}

impl Wording {
    /// Whether VolumeZone looks up the PersistentVolumes of bound PVCs in PreFilter.
    pub(crate) fn has_volume_zone_pre_filter(self) -> bool {
        !matches!(self, Self::Plain | Self::WithPreemption)
    }

    /// The text that follows the rejection reasons in a message: whether preemption would help.
    fn preemption_suffix(self, nodes: usize, preemption: &PreemptionOutcome<'_>) -> String {
        let Some(help) = preemption.preemption_text(nodes) else {
            return String::new();
        };
        match self {
            Self::Plain => String::new(),
            Self::WithPreemption | Self::OnePeriod => format!(" preemption: {help}"),
            Self::TwoPeriods => format!(" preemption: {help}."),
            Self::DynamicResources => format!(" no new claims to deallocate, preemption: {help}"),
        }
    }
}

impl PreemptionOutcome<'_> {
    fn preemption_text(&self, nodes: usize) -> Option<String> {
        let reasons = match self {
            Self::Never => return Some("not eligible due to preemptionPolicy=Never.".to_owned()),
            Self::VictimsTerminating => {
                return Some("not eligible due to a terminating pod on the nominated node.".to_owned());
            }
            Self::Evicts => return None,
            Self::NotHelpful(reasons) => *reasons,
        };
        let mut counts: BTreeMap<Cow<'static, str>, usize> = BTreeMap::new();
        for reason in reasons {
            *counts.entry(reason.clone()).or_default() += 1;
        }
        Some(format!(
            "0/{nodes} nodes are available: {}.",
            format_reason_counts(counts)
        ))
    }
}

/// Joins the reasons as `<count> <reason>`, sorted as strings: 10 comes before 2.
fn format_reason_counts(counts: impl IntoIterator<Item = (Cow<'static, str>, usize)>) -> String {
    let mut items: Vec<_> = counts
        .into_iter()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    items.sort();
    items.join(", ")
}

/// Truncates the text to the maximum length of an Event's note.
pub fn truncate_note(text: &str) -> String {
    if text.len() <= NOTE_MAX {
        return text.to_owned();
    }
    let mut end = NOTE_MAX - CUT.len();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &text[..end])
}

/// The wording of an untolerated taint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaintWording {
    /// A clause with key and value: `that the pod didn't tolerate`.
    Long,
    /// Short form with key and value: `untolerated taint {key: value}`.
    KeyValue,
    /// Short form without key and value: `untolerated taint(s)`.
    #[default]
    Generic,
}

impl TaintWording {
    pub(crate) fn reason(self, taint: &Taint) -> Cow<'static, str> {
        let Taint { key, value, .. } = taint;
        match self {
            Self::Long => {
                format!("node(s) had taint {{{key}: {value}}}, that the pod didn't tolerate").into()
            }
            Self::KeyValue => format!("node(s) had untolerated taint {{{key}: {value}}}").into(),
            Self::Generic => "node(s) had untolerated taint(s)".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: &str = "node(s) did not have enough free storage";
    const CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";

    const NO_VICTIMS: Cow<'static, str> = Cow::Borrowed("No preemption victims found for incoming pod");
    const NOT_HELPFUL: Cow<'static, str> = Cow::Borrowed("Preemption is not helpful for scheduling");

    fn rejection<const N: usize>(reasons: [&'static str; N]) -> String {
        let tried = [NOT_HELPFUL; N];
        super::rejection(
            Wording::DynamicResources,
            N,
            reasons.map(Cow::from),
            &PreemptionOutcome::NotHelpful(&tried),
        )
    }

    #[test]
    fn the_same_rejection_is_worded_as_in_each_release() {
        let text = |wording| {
            super::rejection(
                wording,
                3,
                [Cow::from(SPACE); 1],
                &PreemptionOutcome::NotHelpful(&[NO_VICTIMS, NOT_HELPFUL, NOT_HELPFUL]),
            )
        };
        assert_eq!(
            text(Wording::Plain),
            format!("0/3 nodes are available: 1 {SPACE}.")
        );
        assert_eq!(
            text(Wording::OnePeriod),
            format!(
                "0/3 nodes are available: 1 {SPACE}. preemption: 0/3 nodes are available: \
                 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
            )
        );
        assert_eq!(text(Wording::WithPreemption), text(Wording::OnePeriod));
        assert_eq!(text(Wording::TwoPeriods), text(Wording::OnePeriod) + ".");
    }

    #[test]
    fn a_reason_for_all_nodes_is_worded_as_in_each_release() {
        let tried = [NOT_HELPFUL; 3];
        let pre_filter_rejection =
            |wording| pre_filter_rejection(wording, 3, "x", &PreemptionOutcome::NotHelpful(&tried));
        let no_help = "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
        assert_eq!(
            pre_filter_rejection(Wording::Plain),
            "0/3 nodes are available: 3 x."
        );
        for (wording, expected) in [
            (
                Wording::WithPreemption,
                format!("0/3 nodes are available: 3 x. {no_help}"),
            ),
            (
                Wording::TwoPeriods,
                format!("0/3 nodes are available: x. {no_help}."),
            ),
            (
                Wording::OnePeriod,
                format!("0/3 nodes are available: x. {no_help}"),
            ),
        ] {
            assert_eq!(pre_filter_rejection(wording), expected);
        }
    }

    #[test]
    fn messages_equal_those_of_kube_scheduler() {
        assert_eq!(
            rejection([SPACE; 3]),
            "0/3 nodes are available: 3 node(s) did not have enough free storage. no new claims to deallocate, \
             preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
        );
        let never = super::rejection(
            Wording::DynamicResources,
            3,
            [Cow::from(SPACE); 1],
            &PreemptionOutcome::Never,
        );
        assert!(never.ends_with(
            "storage. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."
        ));
        assert_eq!(
            pre_filter_rejection(
                Wording::DynamicResources,
                3,
                "pod has unbound immediate PersistentVolumeClaims",
                &PreemptionOutcome::Never
            ),
            "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
        );
    }

    #[test]
    fn reasons_are_sorted_as_strings() {
        let mut reasons = [SPACE; 12];
        reasons[10..].fill(CONFLICT);
        let text = rejection(reasons);
        assert!(
            text.contains(&format!("available: 10 {SPACE}, 2 {CONFLICT}. no new")),
            "{text}"
        );
    }

    #[test]
    fn long_notes_are_truncated_to_1024_bytes_at_a_character_boundary() {
        assert_eq!(truncate_note("short"), "short");
        assert_eq!(truncate_note(&"x".repeat(1024)).len(), 1024);
        let cut = truncate_note(&"x".repeat(1025));
        assert_eq!((cut.len(), &cut[1018..]), (1024, "xx ..."));
        assert_eq!(truncate_note(&"é".repeat(600)).len(), 1024);
        let odd = truncate_note(&format!("x{}", "é".repeat(600)));
        assert!(
            odd.len() == 1023 && odd.ends_with(CUT),
            "truncated inside a character: {}",
            odd.len()
        );
    }
}
