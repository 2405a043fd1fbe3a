//! URLs, as Go reads them: other libraries allow less, and change more.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What is escaped in a path.
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

/// A URL in its parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::rules) struct Url {
    pub(in crate::rules) scheme: String,
    user: String,
    /// With the port.
    pub(in crate::rules) host: String,
    path: String,
    query: String,
    fragment: String,
    /// What follows the scheme of a URL that has no path.
    opaque: String,
}

impl Url {
    /// Reads a URL that is absolute, or an absolute path. What is wrong with it, otherwise.
    pub(in crate::rules) fn read(text: &str) -> Result<Self, String> {
        Self::parts(text).map_err(|why| format!("parse {text:?}: {why}"))
    }

    fn parts(text: &str) -> Result<Self, String> {
        if text.bytes().any(|byte| byte.is_ascii_control()) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() {
            return Err("empty url".to_owned());
        }
        let mut url = Self::default();
        let (scheme, rest) = scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
        fragment.clone_into(&mut url.fragment);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        query.clone_into(&mut url.query);
        if text == "*" {
            url.path = text.to_owned();
            return Ok(url);
        }
        if !rest.starts_with('/') {
            if url.scheme.is_empty() {
                return Err("invalid URI for request".to_owned());
            }
            url.opaque = rest.to_owned();
            return Ok(url);
        }
        let mut path = rest;
        if let (false, Some(rest)) = (url.scheme.is_empty(), rest.strip_prefix("//")) {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, after) = rest.split_at(end);
            path = after;
            let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
            if !user.bytes().all(is_user) {
                return Err("net/url: invalid userinfo".to_owned());
            }
            user.clone_into(&mut url.user);
            url.host = read_host(host)?;
        }
        check_escapes(path)?;
        path.clone_into(&mut url.path);
        Ok(url)
    }

    /// The host, without brackets, and the port.
    pub(in crate::rules) fn host_and_port(&self) -> (&str, &str) {
        let (host, port) = match self.host.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (self.host.as_str(), ""),
        };
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        (inner.unwrap_or(host), port)
    }

    /// The path, with what must not be in one escaped.
    pub(in crate::rules) fn escaped_path(&self) -> String {
        let is_escaped = |c: char| c.is_ascii_alphanumeric() || "!$&'()*+,;=:@[]%-_.~/".contains(c);
        if self.path.chars().all(is_escaped) {
            return self.path.clone();
        }
        let path = percent_decode_str(&self.path).decode_utf8_lossy();
        utf8_percent_encode(&path, PATH).to_string()
    }

    /// The values of the query by name.
    pub(in crate::rules) fn parameters(&self) -> Vec<(String, Vec<String>)> {
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

fn is_user(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte)
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
        return Err(format!("invalid port {port:?} after host"));
    }
    let is_fit =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    if let Some(c) = host.chars().find(|c| !is_fit(*c)) {
        return Err(format!("invalid character {:?} in host name", c.to_string()));
    }
    check_escapes(host)?;
    Ok(percent_decode_str(host).decode_utf8_lossy().into_owned())
}

/// Whether what follows each `%` are two hexadecimal digits.
fn check_escapes(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            let end = text.len().min(at + 3);
            let shown = text.get(at..end).unwrap_or("%");
            return Err(format!("invalid URL escape {shown:?}"));
        }
    }
    Ok(())
}
