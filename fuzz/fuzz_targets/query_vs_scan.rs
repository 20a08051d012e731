#![no_main]
use nearprint_fuzz as _;
libfuzzer_sys::fuzz_target!(|data: &[u8]| nearprint::testing::fuzzing::query_vs_scan(data));
