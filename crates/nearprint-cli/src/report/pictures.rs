//! The small pictures of a group as the page holds them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;

use super::ReportGroup;

/// The pictures of a group that are embedded, in bytes.
const MAX_GROUP_BYTES: u64 = 1 << 20;

/// The pictures of a group: `data:` URLs of JPEGs.
#[derive(Debug, Serialize)]
pub(super) struct GroupPictures {
    /// Of the kept member, and of the others in their order. Members beyond the end have none.
    pictures: Vec<Option<String>>,
}

impl GroupPictures {
    /// The pictures of a group as far as they fit into a budget, and their share of it. `None` if the kept one has no
    /// picture or no room.
    pub(super) fn new(group: &ReportGroup, num_listed: usize, budget: u64) -> Option<(Self, u64)> {
        let budget = budget.min(MAX_GROUP_BYTES);
        let mut used = 0;
        let mut shown = |thumbnail: Option<&Vec<u8>>| {
            let url = format!("data:image/jpeg;base64,{}", BASE64_STANDARD.encode(thumbnail?));
            let share = url.len() as u64;
            (used + share <= budget).then(|| {
                used += share;
                url
            })
        };
        let kept = shown(group.kept.picture.as_ref()?.thumbnail.as_ref())?;
        let others = group.others.iter().take(num_listed);
        let others = others.map(|member| shown(member.picture.as_ref()?.thumbnail.as_ref()));
        let mut pictures: Vec<Option<String>> = std::iter::once(Some(kept)).chain(others).collect();
        let num_pictures = pictures.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        pictures.truncate(num_pictures);
        Some((Self { pictures }, used))
    }
}
