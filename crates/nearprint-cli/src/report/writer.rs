//! Writes a page group by group.

use std::io::{self, Write};

use serde::Serialize;

use super::pictures::GroupPictures;
use super::texts::{GroupTexts, script_json};
use super::{MAX_MEMBERS, Report, ReportGroup, ReportMember, ReportPicture, histogram, page, state_of};

/// The usual budget for texts and pictures.
pub(crate) const DEFAULT_TEXT_BYTES: u64 = 40 << 20;
/// A chunk ends with this many groups, or with so many bytes of members and texts.
const MAX_CHUNK_GROUPS: usize = 1000;
const MAX_CHUNK_BYTES: usize = 1 << 20;

/// Writes a page. Its memory is a chunk of groups, however many follow.
pub(crate) struct ReportWriter<W: Write> {
    out: W,
    chunk: Chunk,
    /// What follows the groups.
    charts: String,
    /// See [`Report::root`].
    root: Option<String>,
    /// What is left of the budget for texts and pictures.
    text_bytes_left: u64,
    has_room: bool,
    num_groups: u64,
    num_groups_with_texts: u64,
}

impl<W: Write> ReportWriter<W> {
    /// Writes the head of a page. `text_bytes` is the budget for texts of documents and for pictures, usually
    /// [`DEFAULT_TEXT_BYTES`]; names are embedded in any case.
    ///
    /// # Errors
    ///
    /// What `out` returns, or that a chart cannot be drawn.
    pub(crate) fn create(mut out: W, report: &Report, text_bytes: u64) -> io::Result<Self> {
        let drawn = report.histograms.iter().filter(|histogram| !histogram.bins.is_empty());
        let drawn = drawn.map(|histogram| Ok((histogram, histogram::svg(histogram)?)));
        let drawn =
            drawn.collect::<histogram::Drawn<Vec<_>>>().map_err(|e| io::Error::other(e.to_string()))?;
        let (head, header) = (page::head(&report.title), page::header(report));
        write!(out, "<!DOCTYPE html>\n<html lang=\"en\">{}\n<body>{}", head.0, header.0)?;
        Ok(Self {
            out,
            chunk: Chunk::default(),
            charts: page::charts(report, &drawn).0,
            root: report.root.clone(),
            text_bytes_left: text_bytes,
            has_room: text_bytes > 0,
            num_groups: 0,
            num_groups_with_texts: 0,
        })
    }

    /// Whether texts and pictures of further groups may be embedded. Without room, groups need not have any.
    pub(crate) fn has_room_for_texts(&self) -> bool {
        self.has_room
    }

    /// Adds a group.
    ///
    /// # Errors
    ///
    /// What the output returns.
    pub(crate) fn group(&mut self, group: &ReportGroup) -> io::Result<()> {
        if self.num_groups == 0 {
            self.out.write_all(page::groups(self.root.as_deref()).0.as_bytes())?;
        }
        self.num_groups += 1;
        let contents = self.contents(group);
        self.chunk.push(group, contents.as_ref());
        if self.chunk.is_full() {
            self.chunk.write(&mut self.out)?;
        }
        Ok(())
    }

    /// The texts or pictures of a group that are embedded, if it has any. The first group whose kept one does
    /// not fit is the last one that is tried: what follows depends on no later small one.
    fn contents(&mut self, group: &ReportGroup) -> Option<Contents> {
        let kept = &group.kept;
        let has_thumbnail = kept.picture.as_ref().is_some_and(|picture| picture.thumbnail.is_some());
        if !self.has_room || kept.text.is_none() && !has_thumbnail {
            return None;
        }
        let (num_listed, budget) = (MAX_MEMBERS - 1, self.text_bytes_left);
        let contents = match has_thumbnail {
            true => GroupPictures::new(group, num_listed, budget)
                .map(|(pictures, used)| (Contents::Pictures(pictures), used)),
            false => {
                GroupTexts::new(group, num_listed, budget).map(|(texts, used)| (Contents::Texts(texts), used))
            }
        };
        let Some((contents, used)) = contents else {
            self.has_room = false;
            return None;
        };
        debug_assert!(used <= self.text_bytes_left);
        self.text_bytes_left -= used;
        self.num_groups_with_texts += 1;
        Some(contents)
    }

    /// Writes the end of the page, and returns the output after a flush.
    ///
    /// # Errors
    ///
    /// What the output returns.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        if self.chunk.num_groups() > 0 {
            self.chunk.write(&mut self.out)?;
        }
        self.out.write_all(self.charts.as_bytes())?;
        if self.num_groups > 0 {
            let end = page::end(self.num_groups, self.num_groups_with_texts, self.root.is_some());
            self.out.write_all(end.0.as_bytes())?;
        }
        self.out.write_all(b"</body>\n</html>\n")?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// What the page shows of the members of a group.
#[derive(Serialize)]
#[serde(untagged)]
enum Contents {
    Texts(GroupTexts),
    Pictures(GroupPictures),
}

/// Groups that are written together.
#[derive(Default)]
struct Chunk {
    list: List,
    /// The groups' [`Members`], as items of a JSON array.
    members: String,
    /// The groups' [`Contents`] or null, likewise.
    texts: String,
}

/// What the list shows of each group.
#[derive(Default, Serialize)]
struct List {
    /// The names of the kept members.
    names: Vec<String>,
    /// The numbers of members, with the kept one and those that are not listed.
    members: Vec<usize>,
    /// The bytes of the members but for the kept one, as far as they are known.
    bytes: Vec<Option<u64>>,
    /// The lowest similarities.
    similarities: Vec<Option<f64>>,
    /// The largest distances.
    distances: Vec<Option<u32>>,
}

/// The bytes of the kept member, the others that are listed, and what is known of the kept one if it is a file.
#[derive(Serialize)]
struct Members<'a>(
    Option<u64>,
    Vec<Member<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")] Option<File<'a>>,
);

/// Name, bytes, distance, similarity, whether it is an exact copy, and what is known of a file.
#[derive(Serialize)]
struct Member<'a>(
    &'a str,
    Option<u64>,
    Option<u32>,
    Option<f64>,
    bool,
    #[serde(skip_serializing_if = "Option::is_none")] Option<File<'a>>,
);

/// What is known of a picture, the state of a file, and whether the file stays.
#[derive(Serialize)]
struct File<'a>(
    Option<Picture<'a>>,
    Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")] bool,
);

impl<'a> File<'a> {
    fn of(member: &'a ReportMember) -> Option<Self> {
        let (picture, state) = (Picture::of(member), member.stamp.as_ref().map(state_of));
        (picture.is_some() || state.is_some()).then_some(Self(picture, state, member.stays))
    }
}

/// Width, height, and when the file was changed.
#[derive(Serialize)]
struct Picture<'a>(usize, usize, &'a str);

impl<'a> Picture<'a> {
    fn of(member: &'a ReportMember) -> Option<Self> {
        let ReportPicture { width, height, modified, .. } = member.picture.as_ref()?;
        Some(Self(*width, *height, modified))
    }
}

impl<'a> Member<'a> {
    fn new(member: &'a ReportMember) -> Self {
        let similarity = member.similarity.map(rounded);
        let file = File::of(member);
        Self(&member.name, member.bytes, member.distance, similarity, member.is_exact, file)
    }
}

impl Chunk {
    fn num_groups(&self) -> usize {
        self.list.names.len()
    }

    fn is_full(&self) -> bool {
        let num_bytes = self.members.len() + self.texts.len();
        self.num_groups() >= MAX_CHUNK_GROUPS || num_bytes >= MAX_CHUNK_BYTES
    }

    fn push(&mut self, group: &ReportGroup, contents: Option<&Contents>) {
        self.list.push(group);
        let listed = group.others.iter().take(MAX_MEMBERS - 1).map(Member::new).collect();
        for (items, json) in [
            (&mut self.members, script_json(&Members(group.kept.bytes, listed, File::of(&group.kept)))),
            (&mut self.texts, script_json(&contents)),
        ] {
            if !items.is_empty() {
                items.push(',');
            }
            items.push_str(&json);
        }
    }

    /// Writes the blocks of the chunk, and starts a new one.
    fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        let (members, texts) = (format!("[{}]", self.members), format!("[{}]", self.texts));
        for (class, json) in [("list", &script_json(&self.list)), ("members", &members), ("texts", &texts)] {
            writeln!(out, r#"<script type="application/json" class="{class}">{json}</script>"#)?;
        }
        *self = Self::default();
        Ok(())
    }
}

impl List {
    fn push(&mut self, group: &ReportGroup) {
        let others = &group.others;
        let known = others.iter().filter_map(|member| member.bytes);
        self.names.push(group.kept.name.clone());
        self.members.push(1 + others.len() + group.num_unlisted);
        self.bytes.push(known.reduce(u64::saturating_add));
        self.similarities
            .push(others.iter().filter_map(|member| member.similarity).reduce(f64::min).map(rounded));
        self.distances.push(others.iter().filter_map(|member| member.distance).max());
    }
}

/// A similarity with the digits that a page needs.
fn rounded(similarity: f64) -> f64 {
    (similarity * 1e4).round() / 1e4
}
