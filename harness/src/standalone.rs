//! The API server and the driver for use without a case.
//!
//! Re-exports their crates for the command line. Owns the list of extensions of the API server.

pub use fake_apiserver::{
    ApiServer, Authorization, Event as ApiEvent, Kubeconfig, LocalClient, Observer as ApiObserver, Release,
    ResourceRef, ServerOptions, Tls, User, Verb,
};
pub use fake_csi::{
    Code as CsiCode, CutText as CsiCut, DriverSpec, Effect as CsiEffect, Event as CsiEvent, FakeDriver,
    Method as CsiMethod, Observer as CsiObserver, Rule as CsiRule, RuleText as CsiRuleText,
};

use std::sync::Arc;

/// Creates an API server with the extensions that cases use: custom resources and admission webhooks.
pub fn api_server(options: ServerOptions, observer: Option<Arc<dyn ApiObserver>>) -> ApiServer {
    let extensions = vec![
        fake_apiserver_apiextensions::extension(),
        fake_apiserver_webhooks::extension(),
    ];
    ApiServer::with_extensions(options, observer, extensions)
}
