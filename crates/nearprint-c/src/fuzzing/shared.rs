//! Calls of shared writers and followers, of rows in structures, and those that cannot fail.

use std::ffi::{CStr, c_char};
use std::ptr;

use super::arguments::{Documents, ROWS, Rows, Space, length, output, pointer};
use super::build::KEYS;
use super::world::{World, call};
use crate::batches::{
    nearprint_builder_push_rows, nearprint_writer_delete_keys, nearprint_writer_nearest,
    nearprint_writer_query_batch, nearprint_writer_upsert_rows,
};
use crate::database::nearprint_database_width;
use crate::error::{nearprint_damage, nearprint_error_damage};
use crate::follower::{nearprint_follower_open, nearprint_follower_update};
use crate::growing::Growing;
use crate::shared::{
    nearprint_shared_writer_close, nearprint_shared_writer_delete, nearprint_shared_writer_insert_if_new,
    nearprint_shared_writer_insert_rows, nearprint_shared_writer_open,
};
use crate::snapshot::{nearprint_snapshot_stats, nearprint_stats};
use crate::status::nearprint_status_name;
use crate::text::{nearprint_abi_version, nearprint_version, nearprint_version_number};
use crate::views::{nearprint_snapshot_backup_with, nearprint_snapshot_key_storage};
use nearprint::testing::fuzzing::input::Input;

impl World {
    /// Shared writers, followers, and what is left.
    pub(super) fn share(&mut self, input: &mut Input<'_>) {
        match input.below(9) {
            0 => {
                let mut writer = ptr::null_mut();
                let database = self.databases.pick(input);
                let status = call!(self, nearprint_shared_writer_open(database, &raw mut writer));
                self.shared_writers.add(writer, status);
            }
            1 => self.change_shared(input),
            2 => self.shared_writers.free(input),
            3 => self.follow(input),
            4 => self.followers.free(input),
            5 => self.store_rows(input),
            6 => self.ask_writer(input),
            7 => self.facts(input),
            _ => self.backup_with(input),
        }
    }

    fn change_shared(&mut self, input: &mut Input<'_>) {
        let (writer, rows) = (self.shared_writers.pick(input), Rows::new(input));
        let given = rows.structure(input);
        let given_at = pointer(input, &raw const given);
        let (mut id, mut is_new) = (0, 0);
        match input.below(4) {
            0 => call!(self, nearprint_shared_writer_insert_rows(writer, given_at, ptr::null_mut())),
            1 => {
                let k = input.k();
                let (is_new_at, id_at) = (output(input, &mut is_new), output(input, &mut id));
                call!(self, nearprint_shared_writer_insert_if_new(writer, given_at, k, is_new_at, id_at))
            }
            2 => {
                let (ids, count) = (rows.ids(input), length(input, ROWS));
                call!(self, nearprint_shared_writer_delete(writer, ids, count))
            }
            _ => call!(self, nearprint_shared_writer_close(writer)),
        };
    }

    fn follow(&mut self, input: &mut Input<'_>) {
        if input.flag() {
            let follower = self.followers.pick(input);
            let (mut bytes, mut changed) = (0, 0);
            let (bytes_at, changed_at) = (output(input, &mut bytes), output(input, &mut changed));
            call!(self, nearprint_follower_update(follower, bytes_at, changed_at));
            return;
        }
        let (database, path) = (self.databases.pick(input), self.path(input));
        let (at, len) = (pointer(input, path.as_ptr().cast::<c_char>()), length(input, path.len()));
        let mut made = ptr::null_mut();
        let status = call!(self, nearprint_follower_open(database, at, len, &raw mut made));
        self.followers.add(made, status);
    }

    fn store_rows(&mut self, input: &mut Input<'_>) {
        let (builder, writer, rows) = (self.builders.pick(input), self.writers.pick(input), Rows::new(input));
        let given = rows.structure(input);
        let given_at = pointer(input, &raw const given);
        match input.below(3) {
            0 => call!(self, nearprint_builder_push_rows(builder, given_at, ptr::null_mut())),
            1 => call!(self, nearprint_writer_upsert_rows(writer, given_at, ptr::null_mut())),
            _ => {
                let documents = Documents::new(&KEYS, &KEYS);
                let keys = documents.structure(input);
                let (keys_at, lens_at) = (pointer(input, keys.keys), pointer(input, keys.key_lens));
                let mut deleted = 0;
                let (count, at) = (length(input, KEYS.len()), output(input, &mut deleted));
                call!(self, nearprint_writer_delete_keys(writer, keys_at, lens_at, count, at))
            }
        };
    }

    fn ask_writer(&mut self, input: &mut Input<'_>) {
        let (writer, rows, k) = (self.writers.pick(input), Rows::new(input), input.k());
        let mut space = Space::new();
        let columns = space.columns(input);
        let columns_at = pointer(input, &raw const columns);
        let (mut count, fingerprints) = (0, rows.words(input));
        let count_at = output(input, &mut count);
        if input.flag() {
            call!(self, nearprint_writer_nearest(writer, fingerprints, k, columns_at, count_at));
        } else {
            let (queries, limit) = (length(input, ROWS), input.pick(&[usize::MAX, 0, 1]));
            let ask = nearprint_writer_query_batch;
            call!(self, ask(writer, fingerprints, queries, k, limit, columns_at, count_at));
        }
    }

    fn backup_with(&mut self, input: &mut Input<'_>) {
        let (snapshot, base) = (self.snapshots.pick(input), self.path(input));
        let path = self.home.path().join("next");
        let path = path.as_os_str().as_encoded_bytes();
        let (at, len) = (path.as_ptr().cast::<c_char>(), length(input, path.len()));
        let (base_at, base_len) = match input.flag() {
            true => (pointer(input, base.as_ptr().cast::<c_char>()), length(input, base.len())),
            false => (ptr::null(), 0),
        };
        let mut shared = 0;
        let shared_at = output(input, &mut shared);
        call!(self, nearprint_snapshot_backup_with(snapshot, at, len, base_at, base_len, shared_at));
    }

    /// Facts about a database, an error and the library.
    fn facts(&mut self, input: &mut Input<'_>) {
        let (database, snapshot) = (self.databases.pick(input), self.snapshots.pick(input));
        let (mut stats, mut damage) = (nearprint_stats::DEFAULT, nearprint_damage::DEFAULT);
        let stats_at = output(input, &mut stats);
        let damage_at = output(input, &mut damage);
        call!(self, nearprint_snapshot_stats(snapshot, stats_at));
        // SAFETY: Handles are alive, null, or, with debug assertions, freed, which they refuse. The
        // structure is there, or its pointer is null or misaligned, which the function refuses.
        let (width, keys, is_damage) = unsafe {
            (
                nearprint_database_width(database),
                nearprint_snapshot_key_storage(snapshot),
                nearprint_error_damage(self.error, damage_at),
            )
        };
        assert!([0, 64, 128, 256, 320].contains(&width) && (0..=4).contains(&keys), "{width} and {keys}");
        assert_eq!(is_damage, 0, "nothing has damaged a database");
        let status = i32::from(input.byte()) - 100;
        for at in [nearprint_status_name(status), nearprint_version()] {
            // SAFETY: Both functions return a text that lives forever, with a null byte at the end.
            assert!(!unsafe { CStr::from_ptr(at) }.is_empty());
        }
        assert!(nearprint_abi_version() > 0 && nearprint_version_number() > 0);
    }
}
