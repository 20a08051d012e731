#![no_main]
nearprint_fuzz::target!(nearprint::testing::fuzzing::QUERY_VS_SCAN);
