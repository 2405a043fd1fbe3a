//! Evaluates a CEL expression with the variable `self`:
//! `cargo run -p fake-apiserver-cel --example evaluate -- 'self.replicas <= 5' '{"replicas": 3}'`.

use fake_apiserver_cel::{Budget, Expression, Scope, from_json};
use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(text), Some(json)) = (arguments.next(), arguments.next()) else {
        return Err("usage: evaluate EXPRESSION JSON".into());
    };
    let expression = Expression::read(&text)?;
    expression.check_variables(&["self"])?;
    let mut scope = Scope::new(&Budget::for_validation());
    scope.bind("self", from_json(&serde_json::from_str(&json)?));
    let value = expression.evaluate(&scope).map_err(|why| format!("{why:?}"))?;
    writeln!(std::io::stdout(), "{value}")?;
    Ok(())
}
