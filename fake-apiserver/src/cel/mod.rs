//! CEL expressions, on the crates `cel` and `kube-cel` (Kubernetes' CEL libraries).
//!
//! Owns the limits of expressions, the known variables and functions, and the cost budget. There is no type checker before
//! evaluation. Does not know schemas, admission or requests.

mod arguments;
mod authority;
mod authorizer;
mod budget;
mod depth;
mod expression;
mod functions;
mod rewrite;
mod scope;
mod urls;
mod value;

pub use authority::{Authority, Check};
pub use budget::Budget;
pub use expression::Expression;
pub use functions::convert;
pub use kube_cel::cel::Value;
pub use rewrite::RESERVED;
pub use scope::{Failure, Scope};
pub use value::{from_json, optional};
