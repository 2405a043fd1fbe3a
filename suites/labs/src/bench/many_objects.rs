//! Measures a server with many API objects and watches: its memory use, and whether a change costs more than with few objects.

use super::connection::{ApiRequest, Connection};
use super::load::{Bench, create_requests};
use super::stats::RequestStats;
use suites::harness::system::BoxError;

/// Number of active watches that receive every change.
const WATCHERS: usize = 10;

/// The measured event rates. Also holds the idle watches, which must stay open until memory use has been measured.
pub(super) struct ManyObjects {
    pub(super) stats: Vec<RequestStats>,
    /// One connection per idle watch; each watch is on a single API object.
    _watches: Vec<Connection>,
}

impl Bench<'_> {
    /// Measures changes with few and with many API objects. Keeps all objects and idle watches, to measure the server's memory use.
    pub(super) async fn measure_many_objects(&self) -> Result<ManyObjects, BoxError> {
        let (few, held) = (self.load.few, self.load.held);
        let mut stats = Vec::new();
        for (from, to) in [(0, few), (few, held)] {
            let more = to.saturating_sub(from);
            self.send_requests(String::new(), more, create_requests(&self.objects, from))
                .await?;
            let name = format!("events among {to} objects");
            stats.push(self.watch(name, WATCHERS, few).await?);
        }
        let mut watches = Vec::new();
        for number in 0..self.load.idle_watches {
            let mut connection = Connection::open(&self.target).await?;
            let path = format!(
                "{}?watch=1&fieldSelector=metadata.name%3Ditem-{number}",
                self.objects.path
            );
            let code = connection.send(&ApiRequest::without_body("GET", path)).await?;
            if code != 200 {
                return Err(format!("a watch returned {code}").into());
            }
            watches.push(connection);
        }
        let name = format!("events beside {} watches", watches.len());
        stats.push(self.watch(name, WATCHERS, few).await?);
        Ok(ManyObjects {
            stats,
            _watches: watches,
        })
    }
}
