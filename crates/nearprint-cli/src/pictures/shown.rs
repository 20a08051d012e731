//! Pictures as a report shows them.

use nearprint::internal::Utc;

use super::file::{PictureFile, PictureReader};
use crate::report::{ReportMember, ReportPicture};

/// The longest side of a shown picture, in pixels.
const THUMBNAIL_SIDE: usize = 320;
/// The pictures of a group that are shown.
const MAX_THUMBNAILS: usize = 24;

impl PictureReader {
    /// A member of a group for a report: the picture at a place in the group. It is read again if the page has room
    /// for it; one that cannot be read any more is listed only.
    pub(crate) fn shown(&self, file: &PictureFile, place: usize, has_room: bool) -> ReportMember {
        let is_shown = has_room && place < MAX_THUMBNAILS;
        let thumbnail = is_shown.then(|| self.thumbnail(&file.path, THUMBNAIL_SIDE)).flatten();
        let modified = Utc(u64::try_from(file.stamp.modified.0).unwrap_or(0)).to_string();
        let picture = ReportPicture { width: file.width, height: file.height, modified, thumbnail };
        ReportMember {
            name: file.path.to_string_lossy().into_owned(),
            bytes: Some(file.stamp.size_bytes),
            stamp: file.path.to_str().and_then(|_| file.identified_stamp()),
            picture: Some(picture),
            ..ReportMember::default()
        }
    }
}
