//! The API server and the driver without a scenario.
//!
//! Only re-exports their crates, for the command line.

pub use fake_apiserver::{
    ApiServer, Authorization, Event as ApiEvent, Kubeconfig, LocalClient, Observer as ApiObserver, Release,
    ResourceRef, ServerOptions, Tls, User, Verb,
};
pub use fake_csi::{
    Code as CsiCode, CutText as CsiCut, DriverSpec, Effect as CsiEffect, Event as CsiEvent, FakeDriver,
    Method as CsiMethod, Observer as CsiObserver, Rule as CsiRule, RuleText as CsiRuleText,
};
