//! OpenAPI v2, and OpenAPI documents in protobuf.

mod gnostic;
mod version2;

use fake_apiserver::extension::{Extension, OpenApiEncoders};

/// The extension that serves `/openapi/v2`, and OpenAPI documents in protobuf.
pub(super) fn extension() -> Extension {
    Extension {
        open_api: Some(OpenApiEncoders {
            version2: version2::merge_version3_documents,
            version2_protobuf: gnostic::version2,
            version3_protobuf: gnostic::version3,
        }),
        ..Extension::default()
    }
}
