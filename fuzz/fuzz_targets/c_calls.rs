#![no_main]
use nearprint_fuzz as _;
libfuzzer_sys::fuzz_target!(|data: &[u8]| nearprint_c::fuzzing::calls(data));
