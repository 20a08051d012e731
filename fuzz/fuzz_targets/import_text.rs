#![no_main]
nearprint_fuzz::target!(nearprint_cli::fuzzing::TARGET);
