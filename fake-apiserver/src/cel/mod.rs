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

pub(crate) use authority::{Authority, Check};
pub(crate) use budget::Budget;
pub(crate) use expression::Expression;
pub(crate) use functions::convert;
pub(crate) use kube_cel::cel::Value;
pub(crate) use rewrite::RESERVED;
pub(crate) use scope::{Failure, Scope};
pub(crate) use value::{from_json, optional};
