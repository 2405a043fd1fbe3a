//! `/statusz` and `/flagz`: what the server is and how it was started, as text for people and in the versions of config.k8s.io.
//!
//! Owns their contents and forms. Does not know who may ask.

use super::body_reader::media_type;
use super::negotiate::{self, Accept, JSON};
use super::respond::{self, Plain};
use crate::config::options::ServerOptions;
use crate::config::release::Release;
use crate::machinery::status::Status;
use crate::machinery::yaml;
use hyper::HeaderMap;
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;

/// The first minor release that serves them unless it is told not to.
const SINCE: u8 = 36;

/// The name that the server gives itself.
const COMPONENT: &str = "apiserver";

const WARNING: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is \
    for debugging purposes only.";

/// What a page can be sent in.
const FORMS: &str = "application/json, application/yaml, text/plain";

const GROUP: &str = "config.k8s.io";

/// The versions of that group, and whether they are deprecated.
const VERSIONS: [(&str, bool); 2] = [("v1beta1", false), ("v1alpha1", true)];

/// A page about the server itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Statusz,
    Flagz,
}

/// A page as an object, its members in the order of the real server.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<'a> {
    kind: &'static str,
    api_version: String,
    metadata: Metadata,
    #[serde(flatten)]
    content: Content<'a>,
}

#[derive(Serialize)]
struct Metadata {
    name: &'static str,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Content<'a> {
    Statusz {
        start_time: String,
        uptime_seconds: u64,
        go_version: &'static str,
        binary_version: String,
        emulation_version: String,
        paths: Vec<&'static str>,
    },
    Flagz {
        flags: &'a BTreeMap<String, String>,
    },
}

/// What a client is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    /// An object of a version, in JSON or YAML.
    Object {
        media: &'static str,
        version: &'static str,
        is_deprecated: bool,
    },
}

impl Page {
    /// The page that a segment of a path names.
    pub(super) fn named(segment: &str) -> Option<Self> {
        [Self::Statusz, Self::Flagz]
            .into_iter()
            .find(|page| page.name() == segment)
    }

    /// Whether a server has it.
    pub(super) fn is_served(self, release: Release, options: &ServerOptions) -> bool {
        release.minor() >= SINCE && (self == Self::Statusz || options.flags.is_some())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Statusz => "statusz",
            Self::Flagz => "flagz",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Statusz => "Statusz",
            Self::Flagz => "Flagz",
        }
    }

    /// The form that a client likes best among those that there are. Objects have to be asked for by group, version and kind.
    fn form(self, headers: &HeaderMap) -> Option<Form> {
        let ranges = negotiate::ranges(headers);
        if ranges.iter().all(|range| range.trim().is_empty()) {
            return Some(Form::Text);
        }
        ranges.iter().find_map(|range| self.of_range(range))
    }

    fn of_range(self, range: &str) -> Option<Form> {
        let [group, version, kind] = ["g", "v", "as"].map(|name| negotiate::parameter(range, name));
        let range = media_type(range);
        if (group, version, kind) == ("", "", "") {
            return ["text/plain", "text/*", "*/*"]
                .contains(&range)
                .then_some(Form::Text);
        }
        if (group, kind) != (GROUP, self.kind()) {
            return None;
        }
        let (version, is_deprecated) = VERSIONS.into_iter().find(|(known, _)| version == *known)?;
        let media = match range {
            yaml::MEDIA => yaml::MEDIA,
            JSON | "application/*" | "*/*" => JSON,
            _ => return None,
        };
        Some(Form::Object {
            media,
            version,
            is_deprecated,
        })
    }
}

/// What the pages are about.
pub(super) struct About<'a> {
    pub(super) release: Release,
    pub(super) options: &'a ServerOptions,
    pub(super) started: Timestamp,
}

impl About<'_> {
    /// Answers a request for a page.
    pub(super) fn answer(&self, page: Page, headers: &HeaderMap, pretty: bool) -> Plain {
        match page.form(headers) {
            None => respond::status(&Status::no_such_form(FORMS), Accept::Json, pretty),
            Some(Form::Text) => respond::text(200, self.text(page)),
            Some(Form::Object {
                media,
                version,
                is_deprecated,
            }) => {
                let object = self.object(page, version);
                let body = match (media, pretty) {
                    (yaml::MEDIA, _) => serde_json::to_value(&object).map(|object| yaml::write(&object)),
                    (_, true) => serde_json::to_string_pretty(&object).map(|text| format!("{text}\n").into()),
                    (_, false) => serde_json::to_string(&object).map(|text| format!("{text}\n").into()),
                };
                let body = body.expect("texts and numbers are JSON");
                let media = format!("{media};g={GROUP};v={version};as={}", page.kind());
                let plain = respond::typed(200, &media, body);
                if !is_deprecated {
                    return plain;
                }
                let name = page.name();
                plain.warned(&[format!(
                    "This version of the {name} endpoint is deprecated. Please use a newer version."
                )])
            }
        }
    }

    /// The paths of the pages that are served.
    pub(super) fn pages(&self) -> impl Iterator<Item = &'static str> {
        let all = [(Page::Flagz, "/flagz"), (Page::Statusz, "/statusz")];
        let served = all
            .into_iter()
            .filter(|(page, _)| page.is_served(self.release, self.options));
        served.map(|(_, path)| path)
    }

    fn paths(&self) -> Vec<&'static str> {
        let others = ["/healthz", "/livez", "/metrics", "/readyz", "/version"];
        let mut paths: Vec<&str> = self.pages().chain(others).collect();
        paths.sort_unstable();
        paths
    }

    fn up(&self) -> u64 {
        let seconds = (self.options.clock)().as_second() - self.started.as_second();
        seconds.try_into().unwrap_or_default()
    }

    fn text(&self, page: Page) -> String {
        let lines: String = match page {
            Page::Flagz => self
                .flags()
                .iter()
                .map(|(name, value)| format!("{name}: {value}\n"))
                .collect(),
            Page::Statusz => {
                let (started, up, release) = (
                    self.started.strftime("%a %b %e %H:%M:%S UTC %Y"),
                    self.up(),
                    self.release,
                );
                let up = format!("{} hr {:02} min {:02} sec", up / 3600, up / 60 % 60, up % 60);
                let paths = self.paths().join(" ");
                format!(
                    "\nStarted: {started}\nUp: {up}\nGo version: \nBinary version: {release}\nEmulation version: {release}\nPaths: {paths}\n"
                )
            }
        };
        format!("\n{COMPONENT} {}\n{WARNING}\n{lines}", page.name())
    }

    fn object(&self, page: Page, version: &str) -> Object<'_> {
        Object {
            kind: page.kind(),
            api_version: format!("{GROUP}/{version}"),
            metadata: Metadata { name: COMPONENT },
            content: match page {
                Page::Flagz => Content::Flagz { flags: self.flags() },
                Page::Statusz => Content::Statusz {
                    start_time: self.started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
                    uptime_seconds: self.up(),
                    go_version: "",
                    binary_version: self.release.to_string(),
                    emulation_version: self.release.to_string(),
                    paths: self.paths(),
                },
            },
        }
    }

    fn flags(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        self.options.flags.as_ref().unwrap_or(&NONE)
    }
}
