// Pairs and clusters of lists in memory. Included by nearprint.hpp.

#ifndef NEARPRINT_LISTS_HPP
#define NEARPRINT_LISTS_HPP

#include <nearprint/core.hpp>
#include <nearprint/range.hpp>
#include <nearprint/settings.hpp>

#include <initializer_list>
#include <iterator>
#include <type_traits>
#include <vector>

namespace nearprint {
namespace detail {

/// The type of the values of a container, an array of C included.
template <typename Container>
using value_of = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<const Container&>()))>>;

/// The type of a fingerprint in an initializer list: literals such as `1` and `1ull` have 64 bits.
template <typename F>
using listed = std::conditional_t<std::is_integral_v<F>, std::uint64_t, F>;

template <typename T, typename F, typename Function>
range<F, T> search_list(Function function, span<const F> fingerprints, std::uint32_t k, std::string_view bands,
                        const options& options) {
  callbacks_owner callbacks = own_callbacks(options);
  const nearprint_options given = in(options, callbacks);
  nearprint_stream* found = nullptr;
  call(function, width<F>, in(fingerprints.data()), fingerprints.size(), k, bands.empty() ? nullptr : bands.data(),
       bands.size(), &given, &found);
  return range<F, T>(found, std::move(callbacks));
}

}  // namespace detail

/// All pairs of distinct values within k bits, each once, the smaller value first. With bands, such
/// as `6x16`, one of them must be equal, and k compares the rest. The values are a vector, an array, a `std::span` or
/// an initializer list.
template <typename Container, typename F = detail::value_of<Container>>
range<F, pair<F>> find_all(const Container& fingerprints, std::uint32_t k, std::string_view bands = {},
                           const options& options = {}) {
  return detail::search_list<pair<F>, F>(nearprint_find_all, fingerprints, k, bands, options);
}
template <typename Listed, typename F = detail::listed<Listed>>
range<F, pair<F>> find_all(std::initializer_list<Listed> fingerprints, std::uint32_t k, std::string_view bands = {},
                           const options& options = {}) {
  const std::vector<F> list(fingerprints.begin(), fingerprints.end());
  return detail::search_list<pair<F>, F>(nearprint_find_all, list, k, bands, options);
}

/// The clusters of two values or more: values that pairs of find_all() connect.
template <typename Container, typename F = detail::value_of<Container>>
range<F, value_cluster<F>> find_clusters(const Container& fingerprints, std::uint32_t k, std::string_view bands = {},
                                         const options& options = {}) {
  return detail::search_list<value_cluster<F>, F>(nearprint_find_clusters, fingerprints, k, bands, options);
}
template <typename Listed, typename F = detail::listed<Listed>>
range<F, value_cluster<F>> find_clusters(std::initializer_list<Listed> fingerprints, std::uint32_t k,
                                         std::string_view bands = {}, const options& options = {}) {
  const std::vector<F> list(fingerprints.begin(), fingerprints.end());
  return detail::search_list<value_cluster<F>, F>(nearprint_find_clusters, list, k, bands, options);
}

}  // namespace nearprint

#endif
