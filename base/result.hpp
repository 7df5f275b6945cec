// SPDX-License-Identifier: MIT
// Result<T>: a value, or an errno with the words that a user needs to act on it.
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

namespace lull {

/// What went wrong. `code` is an errno value; `what` names the thing (a path, a device, a step)
/// and, where there is one, the remedy.
struct Error {
    int code = 0;
    std::string what;

    [[nodiscard]] std::string message() const {
        return code == 0 ? what : what + ": " + std::generic_category().message(code);
    }
    /// The same error seen from one level up: "outer: inner".
    [[nodiscard]] Error in(const std::string& outer) const { return {code, outer + ": " + what}; }
};

/// An Error from the errno of the call that just failed.
inline Error last_error(std::string what) {
    const int code = errno;
    return {code, std::move(what)};
}

/// Errors that a caller can meet are values. Test it, then use `*result` or `result.error()`.
template <typename T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

    [[nodiscard]] bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T&& operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }
    [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

  private:
    std::variant<T, Error> state_;
};

/// A call that gives nothing back but can fail.
template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

    [[nodiscard]] bool ok() const { return !error_; }
    explicit operator bool() const { return ok(); }
    [[nodiscard]] const Error& error() const { return *error_; }

  private:
    std::optional<Error> error_;
};

}  // namespace lull
