#![no_main]
nearprint_fuzz::target!(nearprint_text::fuzzing::RECOGNIZER);
