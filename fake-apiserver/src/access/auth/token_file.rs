//! Token files in the format of kube-apiserver's `--token-auth-file`: lines of `token,user,uid,"group1,group2"`.
//!
//! Owns the format. Does not read files.

use super::user::User;

/// The first line of a token file that cannot be parsed, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}; write token,user,uid[,\"group1,group2\"]")]
pub struct TokenFileError {
    /// Line number, starting at 1.
    pub line: usize,
    /// Why the line is invalid, for an error message.
    pub why: &'static str,
}

/// Parses tokens and their users. Skips empty lines. If several lines have the same token, the last line is used.
pub(super) fn parse(text: &str) -> Result<Vec<(String, User)>, TokenFileError> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let fault = |why| TokenFileError { line: index + 1, why };
        let mut fields = columns(line).map_err(fault)?.into_iter();
        let (Some(token), Some(name), Some(uid)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(fault("there are fewer than three columns"));
        };
        if token.is_empty() {
            return Err(fault("the token is empty"));
        }
        let groups = fields.next().unwrap_or_default();
        let groups = groups.split(',').map(str::trim).filter(|group| !group.is_empty());
        let user = User {
            uid,
            groups: groups.map(str::to_owned).collect(),
            ..User::new(&name)
        };
        found.push((token, user));
    }
    Ok(found)
}

/// Splits a line into columns. A quoted column can contain commas; `""` is a quote.
fn columns(line: &str) -> Result<Vec<String>, &'static str> {
    let mut found = Vec::new();
    let mut rest = line.trim_end_matches('\r');
    loop {
        let (column, after) = column(rest.trim_start())?;
        found.push(column);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Ok(found),
            None => return Err("there is text after a quoted column"),
        }
    }
}

fn column(text: &str) -> Result<(String, &str), &'static str> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find(',').unwrap_or(text.len());
        return match text[..end].contains('"') {
            true => Err("a quote occurs inside a column that does not start with a quote"),
            false => Ok((text[..end].to_owned(), &text[end..])),
        };
    };
    let mut column = String::new();
    loop {
        let end = rest.find('"').ok_or("a quoted column does not end")?;
        column.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                column.push('"');
                rest = next;
            }
            None => return Ok((column, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn columns_may_be_quoted() {
        let found = parse("t1,alice,1,\"dev, ops\"\n\n t2,\"b\"\"ob\",\r\n").expect("valid token file");
        let (token, alice) = &found[0];
        assert_eq!(
            (token.as_str(), &*alice.name, alice.uid.as_str()),
            ("t1", "alice", "1")
        );
        assert_eq!(alice.groups, ["dev", "ops"]);
        assert_eq!((&*found[1].1.name, found[1].1.uid.as_str()), ("b\"ob", ""));
    }

    #[test]
    fn an_error_reports_the_number_of_the_invalid_line() {
        for (text, line) in [
            ("a,b", 1),
            ("t,u,1\n,u,1", 2),
            ("t,\"u,1", 1),
            ("t,\"u\"x,1", 1),
            ("t,u\"x\",1", 1),
        ] {
            assert_eq!(parse(text).map_err(|error| error.line), Err(line), "{text}");
        }
    }
}
