//! A response, and the properties that every response must have.

use serde_json::Value;

/// Maximum response bytes per request byte, in addition to a constant.
const GROWTH_MAX: usize = 40;
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A response of the server, with its body read to the end.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    /// `Content-Type`, with its parameters.
    pub media: String,
    /// Empty if the response is a stream.
    pub body: Vec<u8>,
    pub is_stream: bool,
}

impl Answer {
    /// The body as JSON; null if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Checks that the response is complete, matches its media type, and is not too long. Error responses must have a message.
    ///
    /// `may_fail`: kube-apiserver, too, returns a 500 for this input.
    pub fn check(&self, sent: usize, may_fail: bool) {
        let (code, media, text) = (self.code, self.media.as_str(), self.text());
        let most = BYTES_MAX + GROWTH_MAX * sent;
        assert!(
            self.body.len() <= most,
            "the response to a request of {sent} bytes has {} bytes, which is too long",
            self.body.len()
        );
        // These responses have no body: the HTTP parser rejects malformed HTTP, non-canonical paths are redirected, and OpenAPI documents
        // may not exist.
        let is_bare = media.is_empty() && self.body.is_empty() && matches!(code, 301 | 400 | 404 | 414 | 431);
        if self.is_stream || is_bare {
            return;
        }
        match media.split(';').next().unwrap_or_default() {
            "application/json" => self.check_json(),
            "application/yaml" => assert!(code < 400 || text.contains("kind: Status"), "{code}: {text}"),
            "application/vnd.kubernetes.protobuf" => {
                assert!(self.body.starts_with(b"k8s\0"), "{code}: {text}");
            }
            "text/plain" => {
                assert!(!text.is_empty(), "{code} without a message");
            }
            other => panic!("{code} in {other:?}: {text}"),
        }
        let is_timeout = code == 504 && text.contains("Timeout");
        // kube-apiserver, too, returns a 500 for an unparsable resourceVersion and for a Binding without node.
        let is_revision = code == 500 && (text.contains("strconv.ParseUint") || text.contains("target."));
        assert!(
            code < 500 || is_timeout || is_revision || (code == 500 && may_fail),
            "{code}: {text}"
        );
    }

    fn check_json(&self) {
        let value = serde_json::from_slice::<Value>(&self.body);
        let value = value.unwrap_or_else(|error| panic!("{error}: {}", self.text()));
        if self.code < 400 {
            return;
        }
        let says_why = value["message"].as_str().is_some_and(|text| !text.is_empty());
        let is_status = value["kind"] == "Status" && value["code"] == self.code;
        assert!(is_status && says_why, "{}: {value}", self.code);
    }
}
