//! A JSON list as a response body, assembled in pieces from the serialized objects while it is sent.
//!
//! Owns the piece size, and thereby how much of a list is copied at a time. Does not know the format of a list.

use crate::object::Object;
use bytes::{BufMut, Bytes, BytesMut};
use std::sync::Arc;
use std::vec::IntoIter;

/// Bytes per piece: enough for several TLS records, and less than the CPU cache.
const PIECE_BYTES: usize = 64 * 1024;
const END: &[u8] = b"]}\n";

/// The part of a JSON list that is not sent yet.
pub(super) struct Pieces {
    /// The start of the next piece; initially the text before the first item.
    ahead: BytesMut,
    objects: IntoIter<Arc<Object>>,
    /// Whether list items include `kind` and `apiVersion`.
    are_named: bool,
    is_first: bool,
    left: usize,
}

impl Pieces {
    /// Creates a list that starts with `head`, which ends with the bracket before the first item.
    pub(super) fn new(head: BytesMut, objects: Vec<Arc<Object>>, are_named: bool) -> Self {
        let length = |object: &Arc<Object>| match are_named {
            true => object.bytes().len(),
            false => object.item_bytes(),
        };
        let items: usize = objects.iter().map(length).sum();
        let commas = objects.len().saturating_sub(1);
        Self {
            left: head.len() + items + commas + END.len(),
            ahead: head,
            objects: objects.into_iter(),
            are_named,
            is_first: true,
        }
    }

    pub(super) fn unsent_bytes(&self) -> usize {
        self.left
    }

    /// Number of bytes that the list holds in memory in addition to the objects of the store.
    pub(super) fn held_bytes(&self) -> usize {
        PIECE_BYTES + self.objects.len() * size_of::<Arc<Object>>()
    }

    /// The next piece of the list; `None` at its end.
    pub(super) fn next(&mut self) -> Option<Bytes> {
        if self.left == 0 {
            return None;
        }
        let mut piece = std::mem::take(&mut self.ahead);
        piece.reserve(PIECE_BYTES.min(self.left));
        while piece.len() < PIECE_BYTES {
            let Some(object) = self.objects.next() else {
                piece.put_slice(END);
                break;
            };
            if !std::mem::replace(&mut self.is_first, false) {
                piece.put_slice(b",");
            }
            match self.are_named {
                true => piece.put_slice(object.bytes()),
                false => object.write_item(&mut piece),
            }
        }
        self.left -= piece.len();
        Some(piece.freeze())
    }

    pub(super) fn into_whole_list(mut self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.left);
        while let Some(piece) = self.next() {
            out.put_slice(&piece);
        }
        out.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    proptest! {
        #[test]
        fn pieces_add_up_to_the_whole_list_of_the_announced_length(
            sizes in prop::collection::vec(0..90_000_usize, 0..6), are_named in any::<bool>(),
        ) {
            let object = |size: &usize| json!({"kind": "K", "apiVersion": "v1", "data": "x".repeat(*size)});
            let objects: Vec<_> = sizes.iter().map(|size| Object::new(object(size), 1)).collect();
            let mut pieces = Pieces::new(BytesMut::from(&b"{\"items\":["[..]), objects, are_named);
            let (promised, mut all) = (pieces.unsent_bytes(), Vec::new());
            while let Some(piece) = pieces.next() {
                prop_assert!(!piece.is_empty() && piece.len() < PIECE_BYTES + 100_000);
                all.extend_from_slice(&piece);
                prop_assert_eq!(all.len() + pieces.unsent_bytes(), promised);
            }
            let list: Value = serde_json::from_slice(&all).unwrap();
            let found = list["items"].as_array().unwrap().iter().map(|item| item["data"].as_str().unwrap().len());
            prop_assert_eq!(found.collect::<Vec<_>>(), sizes);
        }
    }
}
