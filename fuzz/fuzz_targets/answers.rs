#![no_main]
nearprint_fuzz::target!(nearprint::testing::fuzzing::ANSWERS);
