//! Parses responses of webhooks as JSON. Errors have client-go's messages.

use crate::machinery::document::Document;
use serde_json::Value;

/// Parses a webhook response: returns the JSON body, or the error message.
pub(super) fn read(code: u16, body: &[u8]) -> Result<Value, String> {
    if (200..=206).contains(&code) {
        return Document::parse(body)
            .map(|document| document.value)
            .map_err(|why| format!("couldn't get version/kind; json parse error: {why}"));
    }
    let status = Document::parse(body).map(|document| document.value);
    if let Ok(status) = &status
        && status["kind"] == "Status"
        && let Some(message) = status["message"].as_str()
    {
        return Err(message.to_owned());
    }
    Err(refused(code, body))
}

/// client-go's error message for a response whose status code is an error and whose body is no `Status`.
fn refused(code: u16, body: &[u8]) -> String {
    let shown = String::from_utf8_lossy(body);
    let shown = shown.trim();
    match code {
        400 => "the server rejected our request for an unknown reason".to_owned(),
        401 => "the server has asked for the client to provide credentials".to_owned(),
        403 => shown.to_owned(),
        404 => "the server could not find the requested resource".to_owned(),
        405 => "the server does not allow this method on the requested resource".to_owned(),
        409 => "the server reported a conflict".to_owned(),
        415 => {
            format!("the body of the request was in an unknown format - accepted media types include: {shown}")
        }
        422 => "the server rejected our request due to an error in our request".to_owned(),
        429 => "the server has received too many requests and has asked us to try again later".to_owned(),
        503 => "the server is currently unable to handle the request".to_owned(),
        504 => "the server was unable to return a response in the time allotted, but may still be processing the request"
            .to_owned(),
        500.. => format!("an error on the server ({shown:?}) has prevented the request from succeeding"),
        _ => format!("the server responded with the status code {code} but did not return more information"),
    }
}
