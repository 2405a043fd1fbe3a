//! The proxy in front of the metrics endpoint of one program: applies the rules to the metrics text. Plain HTTP only.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::{Response, StatusCode};

use super::rule::{MetricsRule, WireRule};
use crate::listening::HttpListener;
use crate::system::ProgramInputs;
use capacity_types::exposition::sample;

/// Opens a proxy on the program's metrics address and assigns another address to the program. `None` if the case reads no metrics of the
/// program, or if no rule applies to metrics.
pub(super) async fn open(
    access: &mut ProgramInputs,
    rules: &[WireRule],
) -> std::io::Result<Option<HttpListener>> {
    let rules = rules.iter().filter_map(|rule| match rule {
        WireRule::Metrics(rule) => Some(rule.clone()),
        _ => None,
    });
    let rules: Arc<[MetricsRule]> = rules.collect();
    let Some(address) = access.metrics_address.clone().filter(|_| !rules.is_empty()) else {
        return Ok(None);
    };
    let inner_address = access.network.free_address()?;
    let network = access.network.clone();
    access.metrics_address = Some(inner_address.clone());
    let serve = move |request: hyper::Request<_>| {
        let (network, rules) = (network.clone(), Arc::clone(&rules));
        let url = format!("http://{inner_address}{}", request.uri().path());
        async move {
            let response = match network.get(&url, None).await {
                Ok(text) => Response::new(Full::from(apply_rules(&text, &rules))),
                Err(error) => {
                    let mut response = Response::new(Full::from(error));
                    *response.status_mut() = StatusCode::BAD_GATEWAY;
                    response
                }
            };
            Ok::<_, Infallible>(response.map(BodyExt::boxed_unsync))
        }
    };
    HttpListener::open_at(&access.network, &address, serve)
        .await
        .map(Some)
}

fn apply_rules(text: &str, rules: &[MetricsRule]) -> String {
    let lines = text.lines().filter_map(|line| {
        let Some(mut sample) = sample(line) else {
            return Some(line.to_owned());
        };
        for rule in rules
            .iter()
            .filter(|rule| sample.series.name.starts_with(&rule.name))
        {
            if rule.withhold {
                return None;
            }
            sample
                .series
                .labels
                .retain(|label, _| !rule.without.contains(label));
            sample.value = rule.set.unwrap_or(sample.value);
        }
        Some(format!("{} {}", sample.series, sample.value))
    });
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_withhold_series_set_values_and_remove_labels_by_name() {
        let rule = |name: &str, withhold, without: &[&str], set| MetricsRule {
            name: name.to_owned(),
            withhold,
            without: without.iter().map(|label| (*label).to_owned()).collect(),
            set,
        };
        let rules = [
            rule("a", true, &[], None),
            rule("b", false, &["x"], None),
            rule("c", false, &[], Some(0.0)),
        ];
        let text = "# TYPE a gauge\na_total 1\nb{x=\"1\",y=\"2\"} 3\nc 4\nd{x=\"1\"} 5\n";
        assert_eq!(
            apply_rules(text, &rules),
            "# TYPE a gauge\nb{y=\"2\"} 3\nc 0\nd{x=\"1\"} 5\n"
        );
    }
}
