//! Pictures that a database remembers: by path, size and time, so that they are decoded once.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearprint::any::{AnyWriter, NewRows};
use nearprint::internal::file::{Identity, identity_of};
use nearprint::{Error, Fingerprint, KeyStorage, Options, Schema, U256, Width};
use nearprint_image::Recipe;
use nearprint_text::acts::resolved;
use nearprint_text::documents::FileStamp;

use super::file::{PictureFile, UNKNOWN_ID};
use crate::terminal::failure::Failure;

/// Pictures are durable after so many that were decoded.
const COMMIT_PICTURES: u64 = 1000;

/// The pictures that a database remembers, by absolute path.
#[derive(Default)]
pub(crate) struct KnownPictures(HashMap<PathBuf, PictureFile>);

/// Stores pictures in a database. A row has the PDQ fingerprint of a picture; its key is the absolute path, and the
/// text beside it has the other fields in a line.
struct PictureStore {
    writer: AnyWriter,
    num_pending: u64,
}

/// What a command knows of pictures, and remembers for the next one. By default nothing.
#[derive(Default)]
pub(crate) struct PictureMemory {
    pub(crate) known: Arc<KnownPictures>,
    store: Option<PictureStore>,
    /// The absolute paths of the pictures that were found.
    seen: HashSet<PathBuf>,
    /// Those that were decoded now.
    pub(crate) num_decoded: u64,
}

impl KnownPictures {
    /// Reads a database, which need not exist. Rotations are left out unless they are needed.
    fn of(path: &Path, options: &Options, is_rotated: bool) -> Result<Self, Failure> {
        let mut known = Self::default();
        if !path.exists() {
            return Ok(known);
        }
        let refused = || {
            let why = format!("{}: is not a database of images, which `scan --db` makes", path.display());
            Failure::Usage(why)
        };
        let database = options.open_any(path)?;
        if database.width() != Width::W256 {
            return Err(refused());
        }
        let snapshot = database.snapshot()?;
        if snapshot.recipe() != Some(Recipe::Pdq.name()) || !snapshot.key_storage().has_texts() {
            return Err(refused());
        }
        snapshot.rows()?.visit(|block| {
            for row in block.rows() {
                for key in snapshot.keys_of(row.fingerprint, row.id)? {
                    // A row that another program has stored has no line, and nothing is compared with it.
                    let print = U256::from_le_words(row.fingerprint);
                    if let Some(mut file) = parsed(&key.key, print, &key.text) {
                        file.prints.truncate(if is_rotated { usize::MAX } else { 1 });
                        known.0.insert(file.path.clone(), file);
                    }
                }
            }
            Ok::<(), Error>(())
        })?;
        Ok(known)
    }

    /// A picture that is remembered with this state, and with its rotations if they are needed.
    pub(crate) fn get(&self, path: &Path, stamp: &FileStamp, is_rotated: bool) -> Option<&PictureFile> {
        let found = self.0.get(&absolute(path)?)?;
        let is_whole = !is_rotated || found.has_several || found.prints.len() > 1;
        (found.has_state(stamp) && is_whole).then_some(found)
    }

    /// The pictures outside of some folders, by path, but for those that are files of `here` under another name. With
    /// `are_there`, only those that are still there as they were.
    pub(crate) fn elsewhere(
        &self,
        folders: &[PathBuf],
        here: &HashSet<Identity>,
        are_there: bool,
    ) -> Vec<PictureFile> {
        let folders: Vec<PathBuf> = folders.iter().filter_map(|folder| absolute(folder)).collect();
        let is_outside = |file: &&PictureFile| !folders.iter().any(|folder| file.path.starts_with(folder));
        let is_here = |file: &PictureFile| identity_of(&file.path).is_ok_and(|id| here.contains(&id));
        let is_wanted =
            |file: &&PictureFile| is_outside(file) && !is_here(file) && (!are_there || file.is_there());
        let mut elsewhere: Vec<PictureFile> = self.0.values().filter(is_wanted).cloned().collect();
        elsewhere.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        elsewhere
    }

    /// The paths below some folders that are none of `seen`, and of which no file is as it is remembered: a call may
    /// leave images out.
    fn gone(&self, seen: &HashSet<PathBuf>, folders: &[PathBuf]) -> Vec<&str> {
        let folders: Vec<PathBuf> = folders.iter().filter_map(|folder| absolute(folder)).collect();
        let is_below = |path: &PathBuf| folders.iter().any(|folder| path.starts_with(folder));
        let gone = self
            .0
            .values()
            .filter(|file| is_below(&file.path) && !seen.contains(&file.path) && !file.is_there());
        gone.filter_map(|file| file.path.to_str()).collect()
    }
}

impl PictureMemory {
    /// That of a database, which need not exist; nothing is stored in a dry run.
    pub(crate) fn open(
        db: &Path,
        options: &Options,
        is_rotated: bool,
        is_dry: bool,
    ) -> Result<Self, Failure> {
        let store = (!is_dry).then(|| PictureStore::open(db, options)).transpose()?;
        let known = Arc::new(KnownPictures::of(db, options, is_rotated)?);
        Ok(Self { known, store, ..Self::default() })
    }

    /// Takes note of a picture that was found, and stores it if it was decoded now.
    pub(crate) fn take(&mut self, picture: &PictureFile, is_known: bool) -> Result<(), Error> {
        self.num_decoded += u64::from(!is_known);
        if let Some(store) = &mut self.store {
            self.seen.extend(absolute(&picture.path));
            if !is_known {
                store.remember(picture)?;
            }
        }
        Ok(())
    }

    /// Forgets what is not below the folders any more, and makes everything durable.
    pub(crate) fn finish(self, folders: &[PathBuf]) -> Result<(), Error> {
        self.store.map_or(Ok(()), |store| store.finish(&self.known.gone(&self.seen, folders)))
    }
}

impl PictureStore {
    /// Opens a database for writing, or creates it.
    fn open(path: &Path, options: &Options) -> Result<Self, Failure> {
        if !path.exists() {
            let k = Recipe::Pdq.default_k();
            let schema = Schema::new().k(k).keys(KeyStorage::KeysAndTexts).recipe(Recipe::Pdq.name());
            options.create_any(path, Width::W256, &schema)?;
        }
        Ok(Self { writer: options.open_any(path)?.writer()?, num_pending: 0 })
    }

    /// Stores a picture that was decoded now. A path that is no text is not stored.
    fn remember(&mut self, file: &PictureFile) -> Result<(), Error> {
        let Some(path) = absolute(&file.path) else { return Ok(()) };
        let Some(key) = path.to_str() else { return Ok(()) };
        let line = line(file);
        let row = NewRows {
            fingerprints: &file.prints[0].to_words(),
            keys: Some(&[key]),
            texts: Some(&[line.as_bytes()]),
            ..NewRows::default()
        };
        self.writer.upsert(&row, &mut |_| Ok(()))?;
        self.num_pending += 1;
        if self.num_pending == COMMIT_PICTURES {
            self.num_pending = 0;
            self.writer.commit()?;
        }
        Ok(())
    }

    /// Forgets paths, and makes everything durable.
    fn finish(mut self, gone: &[&str]) -> Result<(), Error> {
        if !gone.is_empty() {
            self.writer.delete_keys(gone)?;
        }
        self.writer.commit()?;
        self.writer.close()
    }
}

/// The absolute form of a path, without links as far as it exists.
fn absolute(path: &Path) -> Option<PathBuf> {
    resolved(path).ok()
}

/// Size, seconds, nanoseconds, width, height, quality, 1 if there is more than a picture, else 0, hash, and the
/// fingerprints of the seven turned pictures.
fn line(file: &PictureFile) -> String {
    let PictureFile { stamp, width, height, quality, has_several, hash, prints, .. } = file;
    let several = u8::from(*has_several);
    let (seconds, nanoseconds) = stamp.modified;
    let size = stamp.size_bytes;
    let mut line = format!("{size} {seconds} {nanoseconds} {width} {height} {quality} {several} {hash:032x}");
    prints.iter().skip(1).for_each(|print| line.push_str(&format!(" {print}")));
    line
}

/// What [`line`] has made.
fn parsed(key: &str, print: U256, text: &[u8]) -> Option<PictureFile> {
    let mut fields = std::str::from_utf8(text).ok()?.split(' ');
    let size_bytes = fields.next()?.parse().ok()?;
    let seconds = fields.next()?.parse().ok()?;
    let mut number = || fields.next()?.parse::<u64>().ok();
    let modified = (seconds, i64::try_from(number()?).ok()?);
    let [width, height] = [usize::try_from(number()?).ok()?, usize::try_from(number()?).ok()?];
    let quality = u8::try_from(number()?).ok()?;
    let has_several = match fields.next()? {
        "0" => false,
        "1" => true,
        _ => return None,
    };
    let hash = u128::from_str_radix(fields.next()?, 16).ok()?;
    let turned = fields.map(U256::parse).collect::<Result<Vec<U256>, _>>().ok()?;
    let prints = std::iter::once(print).chain(turned).collect();
    let stamp = FileStamp { size_bytes, modified, id: UNKNOWN_ID };
    Some(PictureFile { path: key.into(), stamp, hash, width, height, quality, has_several, prints })
}
