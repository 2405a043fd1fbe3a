//! The difference between two claim specs as kube-apiserver puts it into its refusal of a change: a unified diff of
//! the internal type.
//!
//! Owns the internal form (Go's field names, one space of indent) and the diff. Does not know which changes are
//! allowed.

use serde_json::Value;

/// Unchanged lines shown before and after a change.
const CONTEXT: usize = 3;

/// Members of the internal type in its order, with the names that the API has for them.
const MEMBERS: [(&str, &str); 9] = [
    ("AccessModes", "accessModes"),
    ("Selector", "selector"),
    ("Resources", "resources"),
    ("VolumeName", "volumeName"),
    ("StorageClassName", "storageClassName"),
    ("VolumeMode", "volumeMode"),
    ("DataSource", "dataSource"),
    ("DataSourceRef", "dataSourceRef"),
    ("VolumeAttributesClassName", "volumeAttributesClassName"),
];
const RESOURCES: [(&str, &str); 2] = [("Limits", "limits"), ("Requests", "requests")];
const SOURCE: [(&str, &str); 3] = [("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name")];
const SOURCE_REF: [(&str, &str); 4] = [
    ("APIGroup", "apiGroup"),
    ("Kind", "kind"),
    ("Name", "name"),
    ("Namespace", "namespace"),
];

/// A unified diff from one spec to another.
pub(super) fn diff(old: &Value, new: &Value) -> String {
    unified(&lines(old), &lines(new))
}

fn lines(spec: &Value) -> Vec<String> {
    let mut out = Vec::new();
    write_struct(spec, &MEMBERS, 0, "", "", &mut out);
    out
}

fn write_struct(
    value: &Value,
    members: &[(&str, &str)],
    depth: usize,
    before: &str,
    after: &str,
    out: &mut Vec<String>,
) {
    let indent = " ".repeat(depth);
    out.push(format!("{indent}{before}{{"));
    for (i, (name, field)) in members.iter().enumerate() {
        let comma = if i + 1 == members.len() { "" } else { "," };
        let label = format!("{name:?}: ");
        let inner = &value[*field];
        match *name {
            "Resources" => write_struct(inner, &RESOURCES, depth + 1, &label, comma, out),
            "DataSource" if inner.is_object() => write_struct(inner, &SOURCE, depth + 1, &label, comma, out),
            "DataSourceRef" if inner.is_object() => {
                write_struct(inner, &SOURCE_REF, depth + 1, &label, comma, out);
            }
            // A plain string is never null.
            "VolumeName" if inner.is_null() => write_value(&"".into(), depth + 1, &label, comma, out),
            _ => write_value(inner, depth + 1, &label, comma, out),
        }
    }
    out.push(format!("{indent}}}{after}"));
}

fn write_value(value: &Value, depth: usize, before: &str, after: &str, out: &mut Vec<String>) {
    let indent = " ".repeat(depth);
    let comma = |i: usize, len: usize| if i + 1 == len { "" } else { "," };
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push(format!("{indent}{before}["));
            for (i, item) in items.iter().enumerate() {
                write_value(item, depth + 1, "", comma(i, items.len()), out);
            }
            out.push(format!("{indent}]{after}"));
        }
        Value::Object(members) if !members.is_empty() => {
            out.push(format!("{indent}{before}{{"));
            for (i, (name, item)) in members.iter().enumerate() {
                write_value(
                    item,
                    depth + 1,
                    &format!("{name:?}: "),
                    comma(i, members.len()),
                    out,
                );
            }
            out.push(format!("{indent}}}{after}"));
        }
        scalar => out.push(format!("{indent}{before}{scalar}{after}")),
    }
}

/// One line of the comparison: what it is, and how many lines of old and new came before it.
struct Compared<'a> {
    sign: char,
    text: &'a str,
    old_before: usize,
    new_before: usize,
}

fn unified(old: &[String], new: &[String]) -> String {
    let compared = compare(old, new);
    let changed: Vec<usize> = (0..compared.len()).filter(|i| compared[*i].sign != ' ').collect();
    let mut out = String::new();
    let mut rest = changed.as_slice();
    while let [first, ..] = rest {
        // Changes whose contexts touch share a hunk.
        let count = 1 + rest
            .windows(2)
            .take_while(|pair| pair[1] - pair[0] <= 2 * CONTEXT)
            .count();
        let start = first.saturating_sub(CONTEXT);
        let end = (rest[count - 1] + CONTEXT + 1).min(compared.len());
        write_hunk(&compared[start..end], &mut out);
        rest = &rest[count..];
    }
    out
}

fn write_hunk(hunk: &[Compared<'_>], out: &mut String) {
    let Some(first) = hunk.first() else { return };
    let count = |other: char| hunk.iter().filter(|line| line.sign != other).count();
    let (old, new) = (first.old_before + 1, first.new_before + 1);
    out.push_str(&format!("@@ -{old},{} +{new},{} @@\n", count('+'), count('-')));
    for line in hunk {
        out.push_str(&format!("{}{}\n", line.sign, line.text));
    }
}

/// Compares by the longest common subsequence; specs have a few dozen lines.
fn compare<'a>(old: &'a [String], new: &'a [String]) -> Vec<Compared<'a>> {
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    while i < old.len() || j < new.len() {
        let (old_before, new_before) = (i, j);
        let (sign, text) = if i < old.len() && j < new.len() && old[i] == new[j] {
            i += 1;
            j += 1;
            (' ', &old[i - 1])
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            i += 1;
            ('-', &old[i - 1])
        } else {
            j += 1;
            ('+', &new[j - 1])
        };
        out.push(Compared {
            sign,
            text,
            old_before,
            new_before,
        });
    }
    out
}
