//! Chinese words and keywords, by jieba and its dictionary.

use std::sync::LazyLock;

use jieba_rs::{Jieba, KeywordExtract, KeywordExtractConfig, TfIdf};

use super::weight::Weight;

/// The dictionary takes time to load, and memory. It is loaded at the first use.
static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// Jieba's document frequencies, with the settings of the Python original: unknown words are
/// guessed, and a keyword has at least two characters and is none of the built-in stop words.
static TF_IDF: LazyLock<TfIdf> = LazyLock::new(|| {
    let mut extractor = TfIdf::default();
    *extractor.config_mut() = KeywordExtractConfig::builder().use_hmm(true).build();
    extractor
});

/// Calls `push` for each word with a letter or a digit.
pub(super) fn cut(text: &str, mut push: impl FnMut(&str)) {
    let words = JIEBA.cut(text, true);
    let words = words.iter().map(|token| token.word);
    words.filter(|word| word.contains(char::is_alphanumeric)).for_each(&mut push);
}

/// The `top` wanted words by descending TF-IDF, ties in byte order.
pub(super) fn keywords(text: &str, top: usize, wanted: impl Fn(&str) -> bool) -> Vec<(String, Weight)> {
    let mut all = TF_IDF.extract_keywords(&JIEBA, text, usize::MAX, Vec::new());
    all.retain(|found| wanted(&found.keyword));
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.keyword.cmp(&b.keyword)));
    all.truncate(top);
    all.into_iter().map(|found| (found.keyword, Weight::from_f64(found.weight).unwrap_or_default())).collect()
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
}
