//! OpenAPI v2, and OpenAPI documents in protobuf.

mod gnostic;
mod version2;

use fake_apiserver::extension::{Extension, OpenApiForms};

/// `/openapi/v2`, and the protobuf form of OpenAPI documents.
pub(super) fn extension() -> Extension {
    Extension {
        open_api: Some(OpenApiForms {
            version2: version2::from,
            version2_protobuf: gnostic::version2,
            version3_protobuf: gnostic::version3,
        }),
        ..Extension::default()
    }
}
