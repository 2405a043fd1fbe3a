//! URLs as parsed by Go's `net/url`. Rust libraries reject URLs that Go accepts, and normalize URLs that Go leaves unchanged.

use super::go;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Characters that are percent-encoded in a path.
const PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}')
    .add(b'!')
    .add(b'\'')
    .add(b'(')
    .add(b')')
    .add(b'*');

/// A URL, parsed as Go's `net/url` does.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// The scheme in lower case.
    pub scheme: String,
    /// The user info before `@`; `None` if the URL contains no `@`.
    pub user: Option<String>,
    /// The host with port and, for IPv6, brackets.
    pub host: String,
    path: String,
    /// The query without the `?`.
    pub query: String,
    /// The fragment without the `#`.
    pub fragment: String,
    /// The part after the scheme if it does not start with a slash, as in `mailto:a@b` (`Opaque` in Go).
    opaque: String,
}

impl Url {
    /// Parses an absolute URL or an absolute path, or returns Go's error.
    pub fn read(text: &str) -> Result<Self, String> {
        let (whole, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::parts(whole, true).map_err(|why| format!("parse {}: {why}", go::quoted(text)))?;
        fragment.clone_into(&mut url.fragment);
        Ok(url)
    }

    /// Parses a URL that may be relative, or returns Go's error.
    pub fn read_relative(text: &str) -> Result<Self, String> {
        let (whole, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url =
            Self::parts(whole, false).map_err(|why| format!("parse {}: {why}", go::quoted(whole)))?;
        check_escapes(fragment).map_err(|why| format!("parse {}: {why}", go::quoted(text)))?;
        fragment.clone_into(&mut url.fragment);
        Ok(url)
    }

    fn parts(text: &str, is_absolute: bool) -> Result<Self, String> {
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() && is_absolute {
            return Err("empty url".to_owned());
        }
        let mut url = Self::default();
        if text == "*" {
            url.path = text.to_owned();
            return Ok(url);
        }
        let (scheme, rest) = scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        query.clone_into(&mut url.query);
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_owned();
                return Ok(url);
            }
            if is_absolute {
                return Err("invalid URI for request".to_owned());
            }
            if rest.split('/').next().is_some_and(|first| first.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let has_authority = !url.scheme.is_empty() || !is_absolute && !rest.starts_with("///");
        let mut path = rest;
        if let (true, Some(rest)) = (has_authority, rest.strip_prefix("//")) {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, after) = rest.split_at(end);
            path = after;
            let host = match authority.rsplit_once('@') {
                Some((user, host)) => {
                    url.user = Some(read_user(user)?);
                    host
                }
                None => authority,
            };
            url.host = read_host(host)?;
        }
        check_escapes(path)?;
        path.clone_into(&mut url.path);
        Ok(url)
    }

    /// The host without brackets, and the port.
    pub fn host_and_port(&self) -> (&str, &str) {
        let (host, port) = match self.host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (self.host.as_str(), ""),
        };
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        (inner.unwrap_or(host), port)
    }

    /// The path as returned by Go's `URL.EscapedPath`.
    pub fn escaped_path(&self) -> String {
        let is_escaped = |c: char| c.is_ascii_alphanumeric() || "!$&'()*+,;=:@[]%-_.~/".contains(c);
        if self.path.chars().all(is_escaped) {
            return self.path.clone();
        }
        let path = percent_decode_str(&self.path).decode_utf8_lossy();
        utf8_percent_encode(&path, PATH).to_string()
    }

    /// The query parameters, each with all its values.
    pub fn parameters(&self) -> Vec<(String, Vec<String>)> {
        let mut entries: Vec<(String, Vec<String>)> = Vec::new();
        let pairs = self.query.split('&');
        let pairs =
            pairs.filter(|pair| !pair.is_empty() && !pair.contains(';') && check_escapes(pair).is_ok());
        for (name, value) in pairs.flat_map(|pair| form_urlencoded::parse(pair.as_bytes())) {
            match entries.iter_mut().find(|(known, _)| **known == *name) {
                Some((_, values)) => values.push(value.into_owned()),
                None => entries.push((name.into_owned(), vec![value.into_owned()])),
            }
        }
        entries
    }
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok((&text[..at], &text[at + 1..])),
            _ => return Ok(("", text)),
        }
    }
    Ok(("", text))
}

fn is_user_info_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte)
}

fn read_user(user: &str) -> Result<String, String> {
    if !user.bytes().all(is_user_info_byte) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    check_escapes(user)?;
    Ok(user.to_owned())
}

fn read_host(host: &str) -> Result<String, String> {
    let port = match host.strip_prefix('[') {
        Some(_) => match host.rfind(']') {
            Some(end) => &host[end + 1..],
            None => return Err("missing ']' in host".to_owned()),
        },
        None => host.rfind(':').map_or("", |at| &host[at..]),
    };
    let is_port = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_port {
        return Err(format!("invalid port {} after host", go::quoted(port)));
    }
    let is_fit =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    if let Some(c) = host.chars().find(|c| !is_fit(*c)) {
        return Err(format!(
            "invalid character {} in host name",
            go::quoted(&c.to_string())
        ));
    }
    check_escapes(host)?;
    // In a host, only two escapes are valid: that of a non-ASCII byte, and `%25` before an IPv6 zone.
    let is_ascii = |at: usize| host.as_bytes()[at + 1] < b'8' && !host[at..].starts_with("%25");
    if let Some((at, _)) = host.match_indices('%').find(|(at, _)| is_ascii(*at)) {
        return Err(format!("invalid URL escape {}", go::quoted(&host[at..at + 3])));
    }
    Ok(percent_decode_str(host).decode_utf8_lossy().into_owned())
}

/// Checks that each `%` is followed by two hexadecimal digits.
fn check_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            let end = text.len().min(at + 3);
            let shown = text.get(at..end).unwrap_or("%");
            return Err(format!("invalid URL escape {}", go::quoted(shown)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_of_a_relative_url_are_optional() {
        let url = Url::read_relative("//u@h:1/p?q#f").unwrap();
        let parts = (
            &*url.scheme,
            url.user.as_deref(),
            &*url.host,
            &*url.query,
            &*url.fragment,
        );
        assert_eq!(parts, ("", Some("u"), "h:1", "q", "f"));
        assert_eq!(Url::read_relative(""), Ok(Url::default()));
        let why = Url::read_relative("a:b/c").map(|url| url.opaque);
        assert_eq!(why, Ok("b/c".to_owned()));
        let why = Url::read_relative("1:b").unwrap_err();
        assert_eq!(
            why,
            r#"parse "1:b": first path segment in URL cannot contain colon"#
        );
    }

    proptest! {
        #[test]
        fn any_text_parses_or_is_refused_with_an_error_of_go(text in r"[a:/@?#%\[\]0-9é\x01 *.-]{0,24}") {
            for read in [Url::read, Url::read_relative] {
                if let Err(why) = read(&text) {
                    prop_assert!(why.starts_with("parse \""), "{}", why);
                }
            }
        }
    }
}
