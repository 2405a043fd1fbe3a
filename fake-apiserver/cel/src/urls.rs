//! Kubernetes' URL library for CEL. Replaces the implementation in `kube-cel`, whose URL parser differs from Go's.

use super::arguments::receiver;
use fake_apiserver::extension::url::Url;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::Opaque;
use kube_cel::cel::{Context, FunctionContext, ResolveResult, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// The CEL value that `url(string)` returns.
#[derive(Debug, PartialEq, Eq)]
struct UrlValue(Url);

impl Opaque for UrlValue {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.URL"
    }
}

type Part = fn(&Url) -> Value;

const PARTS: [(&str, Part); 6] = [
    ("getScheme", |url| url.scheme.as_str().into()),
    ("getHost", |url| url.host.as_str().into()),
    ("getHostname", |url| url.host_and_port().0.into()),
    ("getPort", |url| url.host_and_port().1.into()),
    ("getEscapedPath", |url| url.escaped_path().into()),
    ("getQuery", |url| {
        let parameters: HashMap<String, Vec<String>> = url.parameters().into_iter().collect();
        parameters.into()
    }),
];

pub(super) fn register(context: &mut Context<'_>) {
    context.add_function("isURL", |text: Arc<String>| Url::read(&text).is_ok());
    context.add_function("url", |with: &FunctionContext, text: Arc<String>| {
        let url = Url::read(&text).map_err(|why| with.error(why))?;
        Ok::<_, kube_cel::cel::ExecutionError>(Value::Opaque(Arc::new(UrlValue(url))))
    });
    for (name, part) in PARTS {
        context.add_function(name, move |This(this): This<Value>| -> ResolveResult {
            receiver::<UrlValue>(&this).map(|url| part(&url.0))
        });
    }
}
