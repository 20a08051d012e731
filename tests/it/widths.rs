//! Widths that are known only at run time, and widths that do not go together.

use nearprint::any::Columns;
use nearprint::{
    AnyDatabase, Database, Error, Fingerprint, Options, Row, Schema, U256, Width, width_of, width_of_damaged,
};
use testkit::{Shape, all_rows, build, for_each_width, low, rows};

for_each_width!(a_database_is_opened_by_its_own_width);

/// Every row.
fn printed(any: &AnyDatabase) -> Vec<(String, u64)> {
    let blocks: Vec<Columns> = any.snapshot().unwrap().rows().unwrap().map(Result::unwrap).collect();
    let rows = blocks.iter().flat_map(Columns::rows).map(|row| row.row());
    rows.map(|Row { fingerprint, id }| (fingerprint.to_string(), id)).collect()
}

fn a_database_is_opened_by_its_own_width<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let rows = rows::<F>(Shape::Equal, 200, 9);
    let typed = build(&path, &rows, Schema::new());
    assert_eq!((width_of(&path).unwrap(), width_of_damaged(&path).unwrap()), (F::WIDTH, F::WIDTH));
    let any = AnyDatabase::open(&path).unwrap();
    assert_eq!((any.width(), any.path()), (F::WIDTH, path.as_path()));
    assert_eq!(any.stats().unwrap(), typed.stats());
    assert_eq!(any.explain(3).unwrap().to_string(), typed.explain(3).to_string());
    assert_eq!(any.verify().unwrap().damage, []);
    let expected: Vec<(String, u64)> =
        all_rows(&typed).iter().map(|row| (row.fingerprint.display().to_string(), row.id)).collect();
    assert_eq!(printed(&any), expected);

    let (copy, saved, runs) = (home.path().join("copy"), home.path().join("saved"), home.path().join("runs"));
    any.backup(&copy).unwrap();
    let copied = AnyDatabase::open(&copy).unwrap();
    let mut builder = Database::<F>::build(&runs, &Schema::new()).unwrap().runs_only();
    builder.push(Row { fingerprint: low::<F>(5), id: 1 << 50 }).unwrap();
    builder.finish().unwrap();
    assert_eq!(copied.ingest(&[&runs]).unwrap().rows, 1);
    assert_eq!(copied.stats().unwrap().runs.len(), 2);
    copied.compact().unwrap();
    assert_eq!(copied.stats().unwrap().runs.len(), 1);
    std::fs::remove_file(copy.join("MANIFEST")).unwrap();
    let report = Options::new().repair_any(&copy, &saved, &Schema::new()).unwrap();
    assert!(report.made);
    assert_eq!(printed(&AnyDatabase::open(&saved).unwrap()).len(), expected.len() + 1);

    let fresh = home.path().join("fresh");
    let created = Options::new().create_any(&fresh, F::WIDTH, &Schema::new().k(5)).unwrap();
    let stats = created.stats().unwrap();
    assert_eq!((stats.width, stats.k, stats.rows), (F::WIDTH, 5, 0));
}

#[test]
fn a_database_of_another_width_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    Database::<U256>::create(&path, &Schema::new()).unwrap();
    assert_eq!(width_of(&path).unwrap(), Width::W256);
    for error in [Database::<u64>::open(&path).unwrap_err(), Database::<u128>::open(&path).unwrap_err()] {
        assert!(matches!(error, Error::Width { database: 256, .. }), "{error}");
    }
}
