//! CEL expressions, built on the crates `cel` and `kube-cel` (Kubernetes' CEL libraries).
//!
//! Owns the limits on expressions, the known variables and functions, and the cost budget. Expressions are not type-checked before
//! evaluation. Does not know schemas, admission or requests.
//!
//! ```
//! use fake_apiserver_cel::{Budget, Expression, Scope, from_json};
//!
//! let expression = Expression::read("self.replicas <= 5").unwrap();
//! let mut scope = Scope::new(&Budget::for_validation());
//! scope.bind("self", from_json(&serde_json::json!({"replicas": 3})));
//! assert_eq!(expression.evaluate(&scope), Ok(true.into()));
//! ```

mod arguments;
mod authorizer;
mod budget;
mod decisions;
mod depth;
mod expression;
mod functions;
mod rewrite;
mod scope;
mod urls;
mod value;

pub use budget::Budget;
pub use decisions::{Authorizer, Check};
pub use expression::Expression;
pub use functions::convert;
pub use kube_cel::cel::Value;
pub use rewrite::RESERVED;
pub use scope::{Failure, Scope};
pub use value::{from_json, optional};
