//! Custom resources for `fake-apiserver`: the resource CustomResourceDefinition, and decoding, validation and conversion of custom
//! resources.
//!
//! ```
//! use fake_apiserver::{ApiServer, ServerOptions};
//!
//! let extensions = vec![fake_apiserver_apiextensions::extension()];
//! let server = ApiServer::with_extensions(ServerOptions::default(), None, extensions);
//! # drop(server);
//! ```

mod controller;
mod conversion;
mod definition;
mod resource;
mod strategy;
mod structural;

use controller::Definitions;
use fake_apiserver::extension::Extension;
use std::sync::Arc;

/// The extension that serves custom resources. Each server needs its own extension.
pub fn extension() -> Extension {
    Extension {
        resources: vec![&resource::CUSTOM_RESOURCE_DEFINITION],
        controllers: vec![Arc::new(Definitions::default())],
        ..Extension::default()
    }
}
