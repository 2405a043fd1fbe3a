//! Performs API discovery over HTTP as client-go does: from the list of groups to the resources of each version.

use serde_json::Value;

use super::Cluster;
use crate::journal::{DiscoveryFact, Observation};
use crate::plan::GroupResource;

impl Cluster {
    /// Reads the served versions of a resource from the discovery API, and records them in the journal.
    pub(super) async fn discover(&self, resource: &GroupResource) {
        let (versions, error) = match self.versions_of(resource).await {
            Ok(versions) => (versions, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        self.journal.append(Observation::Discovery(DiscoveryFact {
            resource: resource.to_string(),
            versions,
            error,
        }));
    }

    async fn versions_of(&self, resource: &GroupResource) -> Result<Vec<String>, String> {
        let mut served = Vec::new();
        for version in self.versions_of_group(&resource.group).await? {
            let path = match resource.group.as_str() {
                "" => format!("api/{version}"),
                group => format!("apis/{group}/{version}"),
            };
            let document = self.document(&path).await?;
            let listed = document["resources"].as_array().into_iter().flatten();
            let mut names = listed.filter_map(|listed| listed["name"].as_str());
            if names.any(|name| name == resource.resource) {
                served.push(version);
            }
        }
        Ok(served)
    }

    /// The versions of an API group, the preferred one first. Empty if the server does not serve the group.
    async fn versions_of_group(&self, group: &str) -> Result<Vec<String>, String> {
        if group.is_empty() {
            let document = self.document("api").await?;
            return Ok(texts(&document["versions"], |version| version.as_str()));
        }
        let document = self.document("apis").await?;
        let mut groups = document["groups"].as_array().into_iter().flatten();
        let found = groups.find(|listed| listed["name"] == group);
        Ok(found.map_or_else(Vec::new, |found| {
            texts(&found["versions"], |version| version["version"].as_str())
        }))
    }

    async fn document(&self, path: &str) -> Result<Value, String> {
        let url = format!("{}/{path}", self.api.url());
        let text = self.network.get(&url, Some(self.token())).await?;
        serde_json::from_str(&text).map_err(|error| format!("{url}: {error}"))
    }
}

fn texts(list: &Value, text: impl Fn(&Value) -> Option<&str>) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|item| text(item).map(str::to_owned)).collect()
}
