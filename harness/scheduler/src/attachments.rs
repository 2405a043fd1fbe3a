//! VolumeAttachments, indexed by node.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::objects::{Object, ObjectKey, VolumeAttachment};
use crate::store::{Collection, Store};

/// All VolumeAttachments of the cluster.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    all: Store<VolumeAttachment>,
    by_node: HashMap<String, BTreeMap<ObjectKey, Arc<VolumeAttachment>>>,
}

impl Attachments {
    /// The VolumeAttachments whose `spec.nodeName` is this node.
    pub fn of_node(&self, node: &str) -> impl Iterator<Item = &Arc<VolumeAttachment>> {
        self.by_node.get(node).into_iter().flat_map(BTreeMap::values)
    }

    fn unlink(&mut self, attachment: &VolumeAttachment) {
        if let Some(attached) = self.by_node.get_mut(&attachment.node) {
            attached.remove(&attachment.key);
            if attached.is_empty() {
                self.by_node.remove(&attachment.node);
            }
        }
    }
}

impl Collection<VolumeAttachment> for Attachments {
    fn put(&mut self, attachment: Arc<VolumeAttachment>) -> Option<Arc<VolumeAttachment>> {
        let old = self.all.put(Arc::clone(&attachment));
        if let Some(old) = &old {
            self.unlink(old);
        }
        let attached = self.by_node.entry(attachment.node.clone()).or_default();
        attached.insert(attachment.key().clone(), attachment);
        old
    }

    fn take(&mut self, key: &ObjectKey) -> Option<Arc<VolumeAttachment>> {
        let old = self.all.take(key)?;
        self.unlink(&old);
        Some(old)
    }

    fn keys(&self) -> Vec<ObjectKey> {
        self.all.keys()
    }
}
