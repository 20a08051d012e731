//! Calls that make and change databases.

use std::ffi::c_char;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::Ordering;

use super::arguments::{ROWS, Rows, Space, length, output, pointer, text};
use super::world::{World, call, on_event, progress};
use crate::batches::{
    nearprint_writer_delete_ids, nearprint_writer_delete_key_prefix, nearprint_writer_insert_if_new,
    nearprint_writer_insert_rows, nearprint_writer_rollback,
};
use crate::builder::{
    nearprint_builder_finish, nearprint_builder_new, nearprint_builder_push, nearprint_builder_push_keyed,
};
use crate::database::{
    nearprint_database_create, nearprint_database_open, nearprint_database_verify, nearprint_open_or_create,
    nearprint_verification,
};
use crate::growing::Growing;
use crate::settings::{
    nearprint_options, nearprint_options_init_sized, nearprint_schema, nearprint_schema_init_sized,
};
use crate::snapshot::nearprint_snapshot_take;
use crate::status::NEARPRINT_OK;
use crate::writer::{
    nearprint_writer_close, nearprint_writer_commit, nearprint_writer_compact, nearprint_writer_delete,
    nearprint_writer_delete_key, nearprint_writer_flush, nearprint_writer_insert,
    nearprint_writer_insert_keyed, nearprint_writer_open, nearprint_writer_query, nearprint_writer_snapshot,
    nearprint_writer_upsert, nearprint_writer_upsert_keyed,
};
use nearprint::testing::fuzzing::input::Input;

const LAYOUTS: [&[u8]; 8] = [
    b"auto",
    b"rotations:4",
    b"rotations:4",
    b"blocks:6,2",
    b"bands:6x16",
    b"bands:9x9",
    b"blocks:0,0",
    b"nothing",
];
pub(super) const KEYS: [&[u8]; 4] = [b"one", b"two", b"three", b""];

impl World {
    /// Databases and builders.
    pub(super) fn build(&mut self, input: &mut Input<'_>) {
        match input.below(10) {
            0 => self.begin(input),
            1 => self.push(input),
            2 => {
                let builder = self.builders.pick(input);
                self.watch.builder.store(builder, Ordering::Relaxed);
                call!(self, nearprint_builder_finish(builder));
                self.watch.builder.store(ptr::null_mut(), Ordering::Relaxed);
            }
            3 => self.push_keyed(input),
            4 => self.open(input),
            5 => {
                let mut snapshot = ptr::null_mut();
                let database = self.databases.pick(input);
                let status = call!(self, nearprint_snapshot_take(database, &raw mut snapshot));
                self.snapshots.add(snapshot, status);
            }
            6 => {
                let mut counts = nearprint_verification::DEFAULT;
                let database = self.databases.pick(input);
                let counts_at = output(input, &mut counts);
                let status =
                    call!(self, nearprint_database_verify(database, counts_at, None, ptr::null_mut()));
                assert!(status != NEARPRINT_OK || counts.damaged == 0, "nothing has damaged the database");
            }
            7 => self.builders.free(input),
            8 => self.databases.free(input),
            _ => self.create(input),
        }
    }

    /// Writers.
    pub(super) fn write(&mut self, input: &mut Input<'_>) {
        match input.below(12) {
            0 => {
                let mut writer = ptr::null_mut();
                let database = self.databases.pick(input);
                let status = call!(self, nearprint_writer_open(database, &raw mut writer));
                self.writers.add(writer, status);
            }
            1..=3 => self.change(input),
            4 => {
                let writer = self.writers.pick(input);
                call!(self, nearprint_writer_commit(writer));
            }
            5 => self.change_keyed(input),
            6 => {
                let (writer, rows, k) = (self.writers.pick(input), Rows::new(input), input.k());
                let mut space = Space::new();
                let columns = space.columns(input);
                let (mut count, fingerprint) = (0, rows.words(input));
                let count_at = output(input, &mut count);
                call!(self, nearprint_writer_query(writer, fingerprint, k, &raw const columns, count_at));
            }
            7 => {
                let writer = self.writers.pick(input);
                call!(self, nearprint_writer_flush(writer));
            }
            8 => {
                let writer = self.writers.pick(input);
                call!(self, nearprint_writer_compact(writer));
            }
            9 => {
                let writer = self.writers.pick(input);
                call!(self, nearprint_writer_close(writer));
            }
            10 => {
                let mut snapshot = ptr::null_mut();
                let writer = self.writers.pick(input);
                let status = call!(self, nearprint_writer_snapshot(writer, &raw mut snapshot));
                self.snapshots.add(snapshot, status);
            }
            _ => self.writers.free(input),
        }
    }

    /// The path of one of three databases.
    pub(super) fn path(&self, input: &mut Input<'_>) -> Vec<u8> {
        let name = input.pick(&["a", "a", "a", "b", "b", "a/b", "", "a\0"]);
        [self.home.path().as_os_str().as_bytes(), b"/", name.as_bytes()].concat()
    }

    pub(super) fn schema(input: &mut Input<'_>) -> nearprint_schema {
        let mut schema = std::mem::MaybeUninit::uninit();
        // SAFETY: The function sets the whole structure.
        let mut schema = unsafe {
            nearprint_schema_init_sized(schema.as_mut_ptr(), size_of::<nearprint_schema>());
            schema.assume_init()
        };
        schema.width = input.pick(&[64, 64, 320, 128, 256, 64, 65, u32::MAX]);
        schema.k = input.pick(&[3, 3, 3, 0, 6, 3, 5, 257]);
        schema.keys = input.pick(&[0, 0, 1, 2, 2, 2, -1, 3]);
        if input.flag() {
            let layout = input.pick(&LAYOUTS);
            (schema.layout, schema.layout_len) = text(input, layout);
            (schema.recipe, schema.recipe_len) = text(input, b"simhash");
        }
        schema
    }

    pub(super) fn options(&self, input: &mut Input<'_>) -> nearprint_options {
        let mut options = std::mem::MaybeUninit::uninit();
        // SAFETY: The function sets the whole structure.
        let mut options = unsafe {
            nearprint_options_init_sized(options.as_mut_ptr(), size_of::<nearprint_options>());
            options.assume_init()
        };
        options.threads = input.pick(&[1, 2, 0]);
        // The default would be 1 GiB, which the fuzzer refuses to allocate.
        options.memory_bytes = input.pick(&[1 << 20, 1 << 20, 1 << 21, 1]);
        options.memtable_rows = input.pick(&[0, 1, 2, 5, 1000]);
        options.foreground_merges = input.pick(&[1, 0]);
        options.on_event = Some(on_event);
        if input.below(8) == 7 {
            self.watch.calls_left.store(input.pick(&[0, 1, 2, 5, 100]), Ordering::Relaxed);
            options.progress = Some(progress);
            options.progress_context = ptr::from_ref(&*self.watch).cast_mut().cast();
        }
        options
    }

    fn begin(&mut self, input: &mut Input<'_>) {
        let (schema, options, path) = (Self::schema(input), self.options(input), self.path(input));
        let (at, len) = (pointer(input, path.as_ptr().cast::<c_char>()), length(input, path.len()));
        let (schema, options) = (pointer(input, &raw const schema), &raw const options);
        let mut builder = ptr::null_mut();
        let first = input.pick(&[0, 1, u64::MAX - 1, u64::MAX]);
        let status = call!(self, nearprint_builder_new(at, len, schema, options, first, &raw mut builder));
        self.builders.add(builder, status);
    }

    fn create(&mut self, input: &mut Input<'_>) {
        let (schema, options, path) = (Self::schema(input), self.options(input), self.path(input));
        let (at, len) = (pointer(input, path.as_ptr().cast::<c_char>()), length(input, path.len()));
        let (schema, options) = (pointer(input, &raw const schema), &raw const options);
        let mut database = ptr::null_mut();
        let status = if input.flag() {
            call!(self, nearprint_database_create(at, len, schema, options, &raw mut database))
        } else {
            call!(self, nearprint_open_or_create(at, len, schema, options, &raw mut database))
        };
        self.databases.add(database, status);
    }

    fn open(&mut self, input: &mut Input<'_>) {
        let (path, options) = (self.path(input), self.options(input));
        let (at, len) = (pointer(input, path.as_ptr().cast::<c_char>()), length(input, path.len()));
        let options = &raw const options;
        let mut database = ptr::null_mut();
        let status = call!(self, nearprint_database_open(at, len, options, &raw mut database));
        self.databases.add(database, status);
    }

    fn push(&mut self, input: &mut Input<'_>) {
        let (builder, rows) = (self.builders.pick(input), Rows::new(input));
        let (fingerprints, ids) = (rows.words(input), rows.ids(input));
        let mut assigned = 0;
        let (count, at) = (input.below(ROWS + 1), output(input, &mut assigned));
        let count = length(input, count);
        call!(self, nearprint_builder_push(builder, fingerprints, ids, count, at));
    }

    fn push_keyed(&mut self, input: &mut Input<'_>) {
        let (builder, rows, key) = (self.builders.pick(input), Rows::new(input), input.pick(&KEYS));
        let ((key, key_len), (text, text_len)) = (text(input, key), text(input, b"a text"));
        let (fingerprint, id) = (rows.words(input), rows.ids(input));
        let mut assigned = 0;
        let at = output(input, &mut assigned);
        call!(self, nearprint_builder_push_keyed(builder, fingerprint, id, key, key_len, text, text_len, at));
    }

    fn change(&mut self, input: &mut Input<'_>) {
        let (writer, rows) = (self.writers.pick(input), Rows::new(input));
        let (fingerprints, ids, count) = (rows.words(input), rows.ids(input), input.below(ROWS + 1));
        let count = length(input, count);
        let mut assigned = 0;
        let at = output(input, &mut assigned);
        let given = rows.structure(input);
        let given = pointer(input, &raw const given);
        let mut space = Space::new();
        let met = space.columns(input);
        let mut met_count = 0;
        match input.below(8) {
            0 => call!(self, nearprint_writer_upsert(writer, fingerprints, ids, count)),
            1 => call!(self, nearprint_writer_delete(writer, ids, count)),
            2 => call!(self, nearprint_writer_insert_rows(writer, given, ptr::null_mut())),
            3 => {
                let (k, count_at) = (input.k(), output(input, &mut met_count));
                let met = &raw const met;
                call!(self, nearprint_writer_insert_if_new(writer, given, k, ptr::null_mut(), met, count_at))
            }
            4 => call!(self, nearprint_writer_rollback(writer)),
            5 => call!(self, nearprint_writer_delete_ids(writer, 0, input.byte().into(), at)),
            _ => call!(self, nearprint_writer_insert(writer, fingerprints, ids, count, at)),
        };
    }

    fn change_keyed(&mut self, input: &mut Input<'_>) {
        let (writer, rows, key) = (self.writers.pick(input), Rows::new(input), input.pick(&KEYS));
        let ((key, key_len), (text, text_len)) = (text(input, key), text(input, b"a text"));
        let (fingerprint, id) = (rows.words(input), rows.ids(input));
        let mut assigned = 0;
        let at = output(input, &mut assigned);
        match input.below(4) {
            0 => call!(self, nearprint_writer_delete_key(writer, key, key_len, at)),
            2 => call!(self, nearprint_writer_delete_key_prefix(writer, key, key_len, at)),
            1 => call!(
                self,
                nearprint_writer_upsert_keyed(writer, fingerprint, id, key, key_len, text, text_len, at)
            ),
            _ => call!(
                self,
                nearprint_writer_insert_keyed(writer, fingerprint, id, key, key_len, text, text_len, at)
            ),
        };
    }
}
