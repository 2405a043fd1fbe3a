//! The messages, clients and servers of the Container Storage Interface 1.12 that this project uses, generated from `csi.proto`.
//! Holds no behaviour: how a driver answers is the business of `fake-csi`, how it is asked that of its callers.

/// The package `csi.v1`, under the names of the specification.
#[allow(
    unused_qualifications,
    clippy::allow_attributes_without_reason,
    reason = "written by the generator, which uses full paths so that no message name can shadow them"
)]
pub mod v1 {
    tonic::include_proto!("csi.v1");
}
