//! URLs.

use super::found::Found;
use crate::machinery::url::Url;
use crate::rules::failure::Failure;
use crate::rules::value::Val;
use std::rc::Rc;

pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let [Val::Text(text)] = args else { return None };
    match name {
        "isURL" => Some(Ok(Val::Bool(Url::read(text).is_ok()))),
        "url" => Some(match Url::read(text) {
            Ok(url) => Ok(Val::Url(Rc::new(url))),
            Err(why) => Err(Failure::new(format!(
                "URL parse error during conversion from string: {why}"
            ))),
        }),
        _ => None,
    }
}

pub(super) fn method<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let [Val::Url(url)] = args else { return None };
    Some(Ok(match name {
        "getScheme" => Val::text(&*url.scheme),
        "getHost" => Val::text(&*url.host),
        "getHostname" => Val::text(url.host_and_port().0),
        "getPort" => Val::text(url.host_and_port().1),
        "getEscapedPath" => Val::text(url.escaped_path()),
        "getQuery" => {
            let entries = url.parameters().into_iter();
            let list = |values: Vec<String>| Val::list(values.into_iter().map(Val::text).collect());
            let entries = entries.map(|(name, values)| (Val::text(name), list(values)));
            Val::Map(Rc::new(entries.collect()))
        }
        _ => return None,
    }))
}
