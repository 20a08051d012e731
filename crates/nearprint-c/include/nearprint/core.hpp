// Fingerprints, errors, and calls of nearprint.h. Included by nearprint.hpp.

#ifndef NEARPRINT_CORE_HPP
#define NEARPRINT_CORE_HPP

#include <nearprint.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace nearprint {

/// A fingerprint of 128, 256 or 320 bits.
template <unsigned Width>
using fingerprint = std::array<std::uint64_t, Width / 64>;

/// What a call reads of a list: a vector, an array, an initializer list, a `std::span`, or a pointer and a number. The
/// list has to outlive the call.
template <typename T>
class span {
 public:
  /// A template, so that the list `{0, 1}` is no null pointer and a number.
  template <typename U, typename = std::enable_if_t<std::is_convertible_v<U (*)[], T (*)[]>>>
  span(U* data, std::size_t size) : data_(data), size_(size) {}
  span() : data_(nullptr), size_(0) {}
  span(std::initializer_list<std::remove_const_t<T>> list) : span(list.begin(), list.size()) {}
  template <std::size_t Size>
  span(T (&array)[Size]) : data_(array), size_(Size) {}
  template <typename Container, typename = std::enable_if_t<std::is_convertible_v<
                                    decltype(std::declval<const Container&>().data()), T*>>>
  span(const Container& container) : data_(container.data()), size_(container.size()) {}
  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_;
  std::size_t size_;
};

/// A path that a call receives: text, or a std::filesystem::path, which has to outlive the call.
class path {
 public:
  path(const char* text) : text_(text) {}
  path(std::string_view text) : text_(text) {}
  path(const std::string& text) : text_(text) {}
  path(const std::filesystem::path& text) : text_(text.native()) {}
  const char* data() const { return text_.data(); }
  std::size_t size() const { return text_.size(); }
  std::string string() const { return std::string(text_); }

 private:
  std::string_view text_;
};

/// Where a file is damaged.
struct damage {
  std::string file;
  std::string section;
  std::uint64_t offset;
  std::string expected;
  std::string found;
};

/// The name of a code, such as `NEARPRINT_CORRUPT`.
inline std::string_view status_name(nearprint_status code) { return nearprint_status_name(code); }

/// Why a call failed.
class error : public std::runtime_error {
 public:
  error(nearprint_status code, const std::string& message, std::optional<damage> place = std::nullopt)
      : std::runtime_error(message), code_(code), place_(std::move(place)) {}
  nearprint_status code() const noexcept { return code_; }
  /// The place of the damage, if the code is NEARPRINT_CORRUPT.
  const std::optional<damage>& place() const noexcept { return place_; }

 private:
  nearprint_status code_;
  std::optional<damage> place_;
};

namespace detail {

/// Where a key begins. An empty one may be a null pointer, which is no key.
inline const char* begin_of(std::string_view key) noexcept { return key.data() == nullptr ? "" : key.data(); }

/// Deletes a handle with its function of nearprint.h.
template <auto Free>
struct deleter {
  template <typename T>
  void operator()(T* handle) const noexcept {
    Free(handle);
  }
};
template <typename T, auto Free>
using handle = std::unique_ptr<T, deleter<Free>>;

inline damage copy_of(const nearprint_damage& at) {
  return {{at.file, at.file_len},
          {at.section, at.section_len},
          at.offset,
          {at.expected, at.expected_len},
          {at.found, at.found_len}};
}

/// Makes a call, with the error object of the thread as its last argument.
template <typename Function, typename... Arguments>
void call(Function function, Arguments... arguments) {
  thread_local handle<nearprint_error, nearprint_error_free> object(nearprint_error_new());
  const nearprint_status code = function(arguments..., object.get());
  if (code == NEARPRINT_OK) return;
  std::optional<damage> place;
  nearprint_damage at;
  nearprint_damage_init(&at);
  if (nearprint_error_damage(object.get(), &at) != 0) place = copy_of(at);
  std::size_t length = 0;
  const char* message = nearprint_error_message(object.get(), &length);
  throw error(code, std::string(message, length), std::move(place));
}

/// Makes a call that writes a text into a buffer.
template <typename Function, typename... Arguments>
std::string text(Function function, Arguments... arguments) {
  std::string buffer(128, '\0');
  std::size_t length = 0;
  call(function, arguments..., buffer.data(), buffer.size(), &length);
  const bool is_whole = length <= buffer.size();
  buffer.resize(length);
  if (!is_whole) call(function, arguments..., buffer.data(), buffer.size(), &length);
  return buffer;
}

/// A function of the caller that the library calls. No exception crosses the library: one of the
/// function stops the work, and call() throws it.
template <typename Visit>
class callback {
 public:
  explicit callback(Visit& visit) : visit_(visit) {}

  /// Passes arguments to the function. Returns what the library expects: 0 to go on.
  template <typename... Arguments>
  std::int32_t operator()(Arguments&&... arguments) noexcept {
    try {
      visit_(std::forward<Arguments>(arguments)...);
      return 0;
    } catch (...) {
      thrown_ = std::current_exception();
      return 1;
    }
  }

  template <typename Function, typename... Arguments>
  void call(Function function, Arguments... arguments) {
    try {
      detail::call(function, arguments...);
    } catch (const error&) {
      if (!thrown_) throw;
    }
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  Visit& visit_;
  std::exception_ptr thrown_;
};

template <typename F>
constexpr std::size_t words = sizeof(F) / sizeof(std::uint64_t);
template <typename F>
constexpr std::uint32_t width = sizeof(F) * 8;

template <typename F>
const std::uint64_t* in(const F* fingerprints) {
  static_assert(std::is_same_v<F, std::uint64_t> || std::is_same_v<F, fingerprint<128>> ||
                    std::is_same_v<F, fingerprint<256>> || std::is_same_v<F, fingerprint<320>>,
                "a fingerprint is a std::uint64_t, or a nearprint::fingerprint of 128, 256 or 320 bits");
  return reinterpret_cast<const std::uint64_t*>(fingerprints);
}
template <typename F>
std::uint64_t* out(F* fingerprints) {
  return reinterpret_cast<std::uint64_t*>(fingerprints);
}

/// The pointer to an optional id.
inline const std::uint64_t* in(const std::optional<std::uint64_t>& id) { return id ? &*id : nullptr; }

/// Refuses ids that are not one for each fingerprint.
inline void check_lengths(std::size_t fingerprints, std::size_t ids) {
  if (fingerprints != ids) {
    throw error(NEARPRINT_INVALID_ARGUMENT, "ids: " + std::to_string(ids) + " ids for " +
                                                std::to_string(fingerprints) + " fingerprints");
  }
}

}  // namespace detail

/// The version of the library that the program runs with, such as `0.1.0`.
inline std::string_view version() { return nearprint_version(); }

/// The same as a number: 1,000,000 times the major, 1,000 times the minor and the patch version.
inline std::uint32_t version_number() { return nearprint_version_number(); }

/// The version of its binary interface. The program needs the NEARPRINT_ABI_VERSION that it was
/// compiled with.
inline std::uint32_t abi_version() { return nearprint_abi_version(); }

/// Reads a fingerprint from text, as nearprint_parse() does. Throws NEARPRINT_INVALID_ARGUMENT for another text.
template <typename F = std::uint64_t>
F parse(std::string_view text) {
  F parsed;
  detail::call(nearprint_parse, detail::width<F>, text.data(), text.size(), detail::out(&parsed));
  return parsed;
}

/// Writes a fingerprint as text: decimal for 64 bits, `0x` and all hexadecimal digits for wider ones.
template <typename F>
std::string format(const F& fingerprint) {
  return detail::text(nearprint_format, detail::width<F>, detail::in(&fingerprint));
}

}  // namespace nearprint

#endif
