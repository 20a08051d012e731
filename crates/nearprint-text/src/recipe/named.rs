//! The recipes that have names.

/// The named recipes and their lines. The first is the default.
pub(super) const NAMED: [(&str, &str); 12] = [
    (
        "minhash",
        "clean=detect-html,nfc,lower tokens=words stop=none shingle=3,1-2 join=space short=tokens weights=one hash=minhash:10x16,2 width=256",
    ),
    (
        "simhash",
        "clean=detect-html,nfc,lower tokens=words stop=none shingle=3,2 join=space short=one weights=frequency hash=xxh3 width=64",
    ),
    (
        "simhash-py",
        "clean=none tokens=space stop=none shingle=4 join=space short=none weights=frequency hash=md5-be64 width=64",
    ),
    (
        "seomoz-cpp",
        "clean=none tokens=non-alpha stop=none shingle=3 join=cyclic short=one weights=frequency hash=jenkins width=64",
    ),
    (
        "notebook",
        "clean=lower tokens=word stop=english shingle=1 join=space short=one weights=frequency hash=md5:128 width=128",
    ),
    (
        "chinese",
        "clean=html,nfc,lower tokens=jieba stop=none shingle=1 join=space short=one weights=tfidf:30 hash=xxh3 width=64",
    ),
    (
        "cjk",
        "clean=nfc,lower tokens=char stop=none shingle=2 join=nothing short=one weights=frequency hash=xxh3 width=64",
    ),
    (
        "fineweb",
        "clean=nfc,lower tokens=words stop=none shingle=5 join=space short=tokens weights=one hash=minhash:10x16,2 width=256 near=0.72",
    ),
    (
        "refinedweb",
        "clean=nfc,lower tokens=words stop=none shingle=5 join=space short=tokens weights=one hash=minhash:9x16,2 width=256 near=0.74",
    ),
    (
        "nemo",
        "clean=nfc,lower tokens=char stop=none shingle=24 join=nothing short=tokens weights=one hash=minhash:7x16,2 width=256 near=0.79",
    ),
    (
        "the-stack",
        "clean=none tokens=words stop=none shingle=5 join=space short=tokens weights=one hash=minhash:10x16,2 width=256",
    ),
    (
        "exact",
        "clean=nfc,lower tokens=words stop=none shingle=all join=space short=one weights=frequency hash=xxh3 width=128",
    ),
];
