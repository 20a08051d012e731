// Rows to store, column by column. Included by nearprint.hpp.

#ifndef NEARPRINT_ROWS_HPP
#define NEARPRINT_ROWS_HPP

#include <nearprint/core.hpp>

namespace nearprint {

namespace detail {

/// Strings in the form of nearprint.h.
struct strings {
  std::vector<const char*> starts;
  std::vector<std::size_t> lens;
  explicit strings(const std::vector<std::string_view>& views) {
    for (const std::string_view& view : views) {
      starts.push_back(begin_of(view));
      lens.push_back(view.size());
    }
  }
};

}  // namespace detail

/// Rows with keys and texts. All columns that are not empty have one value for each row. Strings have to outlive
/// the call that stores the rows.
template <typename F = std::uint64_t>
struct rows {
  std::vector<F> fingerprints;
  /// Empty for ids that are assigned: the 64-bit xxh3 of the key, or 1 + the largest ever stored.
  std::vector<std::uint64_t> ids;
  std::vector<std::string_view> keys;
  std::vector<std::string_view> texts;

  /// Passes the rows to a function of nearprint.h that returns their ids.
  template <typename Function, typename Handle>
  std::vector<std::uint64_t> store(Function function, Handle* handle) const {
    std::vector<std::uint64_t> assigned(fingerprints.size());
    with([&](const nearprint_rows& given) { detail::call(function, handle, &given, assigned.data()); });
    return assigned;
  }

  /// Passes the rows to use(rows) in the form of nearprint.h. Throws NEARPRINT_INVALID_ARGUMENT where a column has
  /// another length.
  template <typename Use>
  void with(Use use) const {
    const detail::strings key_pointers(keys), text_pointers(texts);
    nearprint_rows given;
    nearprint_rows_init(&given);
    given.count = fingerprints.size();
    given.fingerprints = detail::in(fingerprints.data());
    check(ids.size(), "ids");
    check(keys.size(), "keys");
    check(texts.size(), "texts");
    given.ids = ids.empty() ? nullptr : ids.data();
    if (!keys.empty()) {
      given.keys = key_pointers.starts.data();
      given.key_lens = key_pointers.lens.data();
    }
    if (!texts.empty()) {
      given.texts = text_pointers.starts.data();
      given.text_lens = text_pointers.lens.data();
    }
    use(given);
  }

 private:
  void check(std::size_t size, const char* column) const {
    if (size == 0 || size == fingerprints.size()) return;
    throw error(NEARPRINT_INVALID_ARGUMENT, std::string(column) + ": " + std::to_string(size) + " values for " +
                                                std::to_string(fingerprints.size()) + " fingerprints");
  }
};

}  // namespace nearprint

#endif
