#![no_main]
nearprint_fuzz::target!(nearprint_image::fuzzing::TARGET);
