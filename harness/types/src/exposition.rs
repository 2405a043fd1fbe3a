//! Parses metrics in the Prometheus exposition format and in OpenMetrics, whose sample lines are identical. Also parses the series that a
//! case names, in PromQL syntax (`name{label="value"}`).
//!
//! Replaces the crate `prometheus-parse`, which splits labels at commas and equals signs within label values. Label values with topology
//! segments contain both.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A metric name with labels. Denotes one series, or as a selector all series that have at least these labels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Series {
    /// Name of the metric, such as `workqueue_depth`.
    pub name: String,
    /// Label values by label name.
    pub labels: BTreeMap<String, String>,
}

/// A sample of one metric series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The series that the sample belongs to.
    pub series: Series,
    /// The value of the sample; never NaN or infinite.
    pub value: f64,
}

/// Label name in a selector that matches any label.
const ANY_LABEL: &str = "*";

impl Series {
    /// Whether the series `other` matches this selector. `*` matches any label name; values separated by `|` are alternatives.
    pub fn matches(&self, other: &Series) -> bool {
        let is_value = |wanted: &str, value: &String| wanted.split('|').any(|wanted| wanted == value);
        self.name == other.name
            && self.labels.iter().all(|(label, wanted)| match label.as_str() {
                ANY_LABEL => other.labels.values().any(|value| is_value(wanted, value)),
                label => other
                    .labels
                    .get(label)
                    .is_some_and(|value| is_value(wanted, value)),
            })
    }

    /// Parses a series at the start of a metrics line. Also returns the remaining text.
    fn read(text: &str) -> Option<(Self, &str)> {
        let name = leading_name(text)?;
        let mut rest = &text[name.len()..];
        let mut labels = BTreeMap::new();
        if let Some(list) = rest.strip_prefix('{') {
            rest = list.trim_start();
            while !rest.starts_with('}') {
                let (label, after) = rest.split_once('=')?;
                let (value, after) = quoted(after.trim_start().strip_prefix('"')?)?;
                labels.insert(label.trim().to_owned(), value);
                let after = after.trim_start();
                rest = after.strip_prefix(',').unwrap_or(after).trim_start();
            }
            rest = &rest[1..];
        }
        let name = name.to_owned();
        Some((Series { name, labels }, rest))
    }
}

/// The metric name or label name at the start of a text; `None` if there is no name.
fn leading_name(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !is_in_name(c)).unwrap_or(text.len());
    let name = &text[..end];
    (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

/// Parses a quoted label value, whose opening quote was already read. Also returns the text after the closing quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((out, &text[at + 1..])),
            '\\' => out.push(match characters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => out.push(other),
        }
    }
    None
}

impl TryFrom<String> for Series {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match Series::read(text.trim()) {
            Some((series, "")) => Ok(series),
            _ => Err(format!(
                "`{text}` names no series; write a name, or a name with labels such as `workqueue_depth{{name=\"csistoragecapacity\"}}`"
            )),
        }
    }
}

impl From<Series> for String {
    fn from(series: Series) -> String {
        series.to_string()
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.labels.is_empty() {
            return Ok(());
        }
        let labels: Vec<String> = self
            .labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        write!(f, "{{{}}}", labels.join(","))
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// All samples in a text of metrics.
pub fn samples(text: &str) -> impl Iterator<Item = Sample> {
    text.lines().filter_map(sample)
}

/// The samples whose metric name satisfies `is_selected`, and the number of all lines with a series. Lines of unselected metrics are not
/// parsed, because programs export hundreds of series.
pub fn samples_of(text: &str, is_selected: impl Fn(&str) -> bool) -> (Vec<Sample>, usize) {
    let named = text
        .lines()
        .filter_map(|line| Some((leading_name(line.trim_start())?, line)));
    let mut series_count = 0;
    let selected = named
        .inspect(|_| series_count += 1)
        .filter(|(name, _)| is_selected(name));
    let samples = selected.filter_map(|(_, line)| sample(line)).collect();
    (samples, series_count)
}

/// Parses one line of metrics; `None` if the line is a comment or has no finite value.
pub fn sample(line: &str) -> Option<Sample> {
    let (series, rest) = Series::read(line.trim_start())?;
    // A timestamp or exemplar may follow the value.
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    value.is_finite().then_some(Sample { series, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(text: &str) -> Series {
        text.to_owned().try_into().expect("valid series")
    }

    #[test]
    fn unneeded_series_are_counted_but_not_parsed() {
        let text = "# HELP up Whether.\nup 1\n\n  down{x=\"1\"} 2\nup{x=\"2\"} NaN\n9 1\n";
        let (samples, series_count) = samples_of(text, |name| name == "up");
        let samples: Vec<(String, f64)> = samples
            .into_iter()
            .map(|sample| (sample.series.into(), sample.value))
            .collect();
        assert_eq!((samples, series_count), (vec![("up".to_owned(), 1.0)], 3));
    }

    #[test]
    fn samples_with_timestamps_exemplars_and_special_labels_are_parsed() {
        for (line, of, value) in [
            ("up 1", "up", 1.0),
            ("a_total{} 2.5 1700000000", "a_total", 2.5),
            ("a{x=\"1\", y=\"k=v,w\",} 3e2", "a{x=\"1\",y=\"k=v,w\"}", 300.0),
            (
                "a_bucket{le=\"+Inf\"} 7 # {trace=\"x\"} 0.5",
                "a_bucket{le=\"+Inf\"}",
                7.0,
            ),
            (r#"a{x="\"}\\\n"} 0"#, r#"a{x="\"}\\\n"}"#, 0.0),
        ] {
            let read = sample(line).expect(line);
            assert_eq!(
                (read.series.to_string().as_str(), read.value),
                (of, value),
                "{line}"
            );
        }
        for nothing in [
            "# TYPE a counter",
            "",
            "a NaN",
            "a",
            "{x=\"1\"} 2",
            "a{x=1} 2",
            "1a 2",
        ] {
            assert_eq!(sample(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn selector_matches_every_series_with_its_labels() {
        let exported = series("a{x=\"1\",y=\"2\"}");
        for (wanted, is_selected) in [
            ("a", true),
            ("a{x=\"1\"}", true),
            ("a{x=\"2\"}", false),
            ("a{z=\"1\"}", false),
            ("b", false),
        ] {
            assert_eq!(series(wanted).matches(&exported), is_selected, "{wanted}");
        }
        for wrong in ["", "a{", "a{x}", "a 1", "a{x=\"1\"} > 2"] {
            assert!(Series::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
