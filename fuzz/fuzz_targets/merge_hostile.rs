#![no_main]
nearprint_fuzz::target!(nearprint::testing::fuzzing::MERGE_HOSTILE);
