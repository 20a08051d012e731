#![no_main]
nearprint_fuzz::target!(nearprint_c::fuzzing::TARGET);
