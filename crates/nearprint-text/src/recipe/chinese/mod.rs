//! Chinese words and keywords, as Python's jieba 0.42.1 finds them.
//!
//! The crate `jieba-rs` finds the words on the best route through the dictionary, and the words that
//! its hidden Markov model guesses. It divides what is not Chinese in its own way, which is
//! put right here.

mod dictionary;

use std::collections::HashMap;
use std::sync::LazyLock;

use dictionary::Dictionary;
use jieba_rs::Jieba;

use super::weight::Weight;

/// The dictionary takes time to load, and memory. It is loaded at the first use.
static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(Dictionary::load);

static JIEBA: LazyLock<Jieba> = LazyLock::new(|| {
    let lines = DICTIONARY.lines();
    Jieba::with_dict(&mut lines.as_bytes()).expect("the dictionary of this crate has words and counts")
});

/// Words that are no keywords.
const STOP_WORDS: [&str; 30] = [
    "the", "of", "is", "and", "to", "in", "that", "we", "for", "an", "are", "by", "be", "as", "on", "with",
    "can", "if", "from", "which", "you", "it", "this", "then", "at", "have", "all", "not", "one", "has",
];

/// Calls `push` for each word with a letter or a digit.
pub(super) fn cut(text: &str, mut push: impl FnMut(&str)) {
    words(text, |word| {
        if word.contains(char::is_alphanumeric) {
            push(word);
        }
    });
}

/// The `top` wanted words by descending TF-IDF, those with the same one in the order of the text.
pub(super) fn keywords(text: &str, top: usize, wanted: impl Fn(&str) -> bool) -> Vec<(String, Weight)> {
    let mut counts: Vec<(&str, f64)> = Vec::new();
    let (mut places, mut total) = (HashMap::new(), 0.0);
    words(text, |word| {
        let is_long = word.trim().chars().nth(1).is_some();
        if !is_long || STOP_WORDS.contains(&&*word.to_lowercase()) {
            return;
        }
        let place = *places.entry(word).or_insert(counts.len());
        if place == counts.len() {
            counts.push((word, 0.0));
        }
        counts[place].1 += 1.0;
        total += 1.0;
    });
    for (word, weight) in &mut counts {
        *weight *= DICTIONARY.value_of(word) / total;
    }
    counts.retain(|(word, _)| wanted(word));
    counts.sort_by(|a, b| b.1.total_cmp(&a.1));
    counts.truncate(top);
    let weighted =
        |(word, weight): (&str, f64)| (word.to_string(), Weight::from_f64(weight).unwrap_or_default());
    counts.into_iter().map(weighted).collect()
}

/// Calls `push` for everything that jieba divides a text into. What cannot stand in a word comes
/// character by character.
fn words<'a>(text: &'a str, mut push: impl FnMut(&'a str)) {
    let is_word = |c: char| is_chinese(c) || c.is_ascii_alphanumeric() || "+#&._%-".contains(c);
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        rest[..start].char_indices().for_each(|(at, c)| push(&rest[at..at + c.len_utf8()]));
        let len = rest[start..].find(|c| !is_word(c)).unwrap_or(rest.len() - start);
        let (block, after) = rest[start..].split_at(len);
        words_of_block(block, &mut push);
        rest = after;
    }
    rest.char_indices().for_each(|(at, c)| push(&rest[at..at + c.len_utf8()]));
}

/// Divides a run of Chinese and of what may stand in a word.
fn words_of_block<'a>(block: &'a str, push: &mut impl FnMut(&'a str)) {
    // A run of tokens that are neither Chinese nor in the dictionary.
    let mut foreign = 0..0;
    for token in JIEBA.cut(block, true) {
        let is_foreign =
            !token.word.contains(is_chinese) && (token.word.len() == 1 || !JIEBA.has_word(token.word));
        if is_foreign {
            foreign.end = token.byte_end;
            continue;
        }
        numbers_and_names(&block[foreign], push);
        foreign = token.byte_end..token.byte_end;
        push(token.word);
    }
    numbers_and_names(&block[foreign], push);
}

/// Divides what is not Chinese into runs of letters and digits, with a fraction and a percent sign
/// behind, and what is between these.
fn numbers_and_names<'a>(text: &'a str, push: &mut impl FnMut(&'a str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let end_of = |text: &str, is_inside: fn(&u8) -> bool| text.bytes().take_while(is_inside).count();
        let mut len = end_of(rest, u8::is_ascii_alphanumeric);
        if len == 0 {
            len = end_of(rest, |byte| !byte.is_ascii_alphanumeric());
        } else {
            if let Some(fraction) = rest[len..].strip_prefix('.') {
                let digits = end_of(fraction, u8::is_ascii_digit);
                len += if digits > 0 { 1 + digits } else { 0 };
            }
            len += usize::from(rest[len..].starts_with('%'));
        }
        let (word, after) = rest.split_at(len);
        push(word);
        rest = after;
    }
}

/// What jieba takes for Chinese.
fn is_chinese(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fd5}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_in_the_order_of_their_weights() {
        let text = "今天纽约的天气真好啊，京华大酒店的张尧经理吃了一只北京烤鸭。后天纽约的天气不好，昨天纽约的天气也不好，北京烤鸭真好吃";
        let words = |top| keywords(text, top, |word| word != "天气").into_iter().map(|(word, _)| word);
        assert_eq!(words(2).collect::<Vec<_>>(), ["北京烤鸭", "纽约"]);
        assert!(words(100).all(|word| word != "天气" && word.chars().count() >= 2));
        assert!(keywords("", 30, |_| true).is_empty());
    }

    #[test]
    fn what_is_not_chinese_is_divided_as_by_the_original() {
        let cases = [
            ("2015-05-13", "2015|-|05|-|13"),
            ("www.x.com上的TF-IDF", "www|.|x|.|com|上|的|TF|-|IDF"),
            ("涨了3.14%吗", "涨|了|3.14%|吗"),
            ("a.b.5.6--c", "a|.|b.5|.|6|--|c"),
            ("C++和c#", "C++|和|c#"),
            ("㐀 丁", "㐀| |丁"),
        ];
        for (text, expected) in cases {
            let mut found = Vec::new();
            words(text, |word| found.push(word));
            assert_eq!(found.join("|"), expected);
        }
    }

    #[test]
    fn equal_weights_stay_in_the_order_of_the_text() {
        let found = keywords("zzq xxv yyw", 10, |_| true);
        let words: Vec<&str> = found.iter().map(|(word, _)| &**word).collect();
        assert_eq!(words, ["zzq", "xxv", "yyw"]);
    }
}
