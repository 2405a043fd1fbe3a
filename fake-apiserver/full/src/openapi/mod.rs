//! OpenAPI v2, and OpenAPI documents in protobuf.

mod gnostic;
mod version2;

use fake_apiserver::extension::{Extension, OpenApiEncoders};

/// The extension that serves `/openapi/v2`, and encodes OpenAPI documents of v2 and v3 as protobuf.
pub(super) fn extension() -> Extension {
    Extension {
        open_api: Some(OpenApiEncoders {
            version2: version2::merge_version3_documents,
            version2_protobuf: gnostic::encode_version2,
            version3_protobuf: gnostic::encode_version3,
        }),
        ..Extension::default()
    }
}
