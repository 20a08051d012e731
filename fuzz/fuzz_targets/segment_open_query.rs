#![no_main]
nearprint_fuzz::target!(nearprint::testing::fuzzing::SEGMENT_OPEN_QUERY);
