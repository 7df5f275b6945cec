// SPDX-License-Identifier: MIT
#include "replayer/ionice.hpp"

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <ostream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <getopt.h>
#include <unistd.h>

namespace lull::replayer {
namespace {

using sched::IoClass;
using sched::IoTarget;

constexpr int kExitFailed = 1;
constexpr int kExitCannotExecute = 126;
constexpr int kExitNotFound = 127;

constexpr std::string_view kName = "lull ionice";
constexpr std::string_view kTryHelp = "Try 'lull ionice --help' for more information.\n";
constexpr std::string_view kHelp =
    R"(usage: lull ionice [-c CLASS] [-n LEVEL] [-t] COMMAND ARG...
       lull ionice [-c CLASS] [-n LEVEL] [-t] -p PID...
       lull ionice [-c CLASS] [-n LEVEL] [-t] -P PGID...
       lull ionice [-c CLASS] [-n LEVEL] [-t] -u UID...
       lull ionice

Run a command with an I/O priority, or set that of what runs already. Without a
class and a level: show it. Without anything: show the caller's.

  -c, --class CLASS      0 or none, 1 or realtime, 2 or best-effort (default),
                         3 or idle
  -n, --classdata LEVEL  0 (highest) to 7, default 4; for realtime and best-effort
  -p, --pid PID...       of these threads; the number of a process is that of its
                         first thread
  -P, --pgid PGID...     of all processes of these groups
  -u, --uid UID...       of all processes of these users
  -t, --ignore           run the command, or go on, when it cannot be set
  -h, --help             show this
  -V, --version          show the version
)";

/// What the options said, before it is known what it amounts to.
struct Options {
    std::optional<IoClass> io_class;
    std::optional<int> level;
    std::optional<IoTarget> target;
    bool tolerant = false;
    std::optional<IoniceRequest::Action> instead;  ///< help or version: ends the parsing
};

/// Reads command lines; every complaint goes to one stream.
class Parser {
  public:
    explicit Parser(std::ostream& err) : err_(err) {}
    std::optional<IoniceRequest> parse(const std::vector<std::string>& words);

  private:
    bool take(int letter, Options& options);
    bool take_class(const std::string& text, Options& options);
    bool take_target(IoTarget::Kind kind, Options& options);
    std::optional<IoniceRequest> request(const Options& options, std::vector<std::string> rest);
    std::optional<int> number(const std::string& text, std::string_view what);
    void complain(std::string_view text) { err_ << fmt::format("{}: {}\n", kName, text); }

    std::ostream& err_;
};

/// "PID", as messages name what is told by a number.
std::string_view name_of(IoTarget::Kind kind) {
    switch (kind) {
        case IoTarget::Kind::kThread:
            return "PID";
        case IoTarget::Kind::kProcessGroup:
            return "PGID";
        case IoTarget::Kind::kUser:
            break;
    }
    return "UID";
}

std::optional<int> Parser::number(const std::string& text, std::string_view what) {
    errno = 0;
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    using Limits = std::numeric_limits<std::int32_t>;
    if (end == text.c_str() || *end != '\0') {
        complain(fmt::format("invalid {} argument: '{}'", what, text));
        return std::nullopt;
    }
    if (errno == ERANGE || value < Limits::min() || value > Limits::max()) {
        complain(fmt::format("invalid {} argument: '{}': {}", what, text,
                             std::generic_category().message(ERANGE)));
        return std::nullopt;
    }
    return static_cast<int>(value);
}

bool Parser::take_class(const std::string& text, Options& options) {
    if (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
        const auto value = number(text, "class");
        // One that there is not is for -t to forgive, so it stays.
        options.io_class = static_cast<IoClass>(value.value_or(0));
        return value.has_value();
    }
    options.io_class = sched::io_class_named(text);
    if (!options.io_class) {
        complain(fmt::format("unknown scheduling class: '{}'", text));
    }
    return options.io_class.has_value();
}

bool Parser::take_target(IoTarget::Kind kind, Options& options) {
    if (options.target) {
        complain("can handle only one of pid, pgid or uid at once");
        return false;
    }
    const auto id = number(optarg, name_of(kind));
    options.target = IoTarget{kind, id.value_or(0)};
    return id.has_value();
}

bool Parser::take(int letter, Options& options) {
    switch (letter) {
        case 'c':
            return take_class(optarg, options);
        case 'n':
            options.level = number(optarg, "class data");
            return options.level.has_value();
        case 'p':
            return take_target(IoTarget::Kind::kThread, options);
        case 'P':
            return take_target(IoTarget::Kind::kProcessGroup, options);
        case 'u':
            return take_target(IoTarget::Kind::kUser, options);
        case 't':
            options.tolerant = true;
            return true;
        case 'h':
            options.instead = IoniceRequest::Action::kHelp;
            return true;
        case 'V':
            options.instead = IoniceRequest::Action::kVersion;
            return true;
        default:  // getopt has told why
            err_ << kTryHelp;
            return false;
    }
}

std::optional<IoniceRequest> Parser::request(const Options& options,
                                             std::vector<std::string> rest) {
    IoniceRequest request;
    request.tolerant = options.tolerant;
    request.wanted.io_class = options.io_class.value_or(IoClass::kBestEffort);
    request.wanted.level = options.level.value_or(sched::kDefaultLevel);
    if (request.wanted.io_class == IoClass::kIdle || request.wanted.io_class == IoClass::kNone) {
        if (options.level && !options.tolerant) {
            complain(fmt::format("ignoring given class data for {} class",
                                 to_string(request.wanted.io_class)));
        }
        request.wanted.level = request.wanted.io_class == IoClass::kIdle ? sched::kLowestLevel : 0;
    }
    const bool sets = options.io_class || options.level;
    request.action = sets ? IoniceRequest::Action::kSet : IoniceRequest::Action::kShow;
    if (options.target) {
        request.targets.push_back(*options.target);
        for (const std::string& word : rest) {
            const auto id = number(word, name_of(options.target->kind));
            if (!id) {
                return std::nullopt;
            }
            request.targets.push_back({options.target->kind, *id});
        }
    } else if (!rest.empty()) {
        request.action = IoniceRequest::Action::kRun;
        request.command = std::move(rest);
    } else if (!sets) {
        request.targets.emplace_back();
    } else {
        complain("bad usage");
        err_ << kTryHelp;
        return std::nullopt;
    }
    return request;
}

std::optional<IoniceRequest> Parser::parse(const std::vector<std::string>& words) {
    constexpr std::array<option, 9> kLong{{{"class", required_argument, nullptr, 'c'},
                                           {"classdata", required_argument, nullptr, 'n'},
                                           {"pid", required_argument, nullptr, 'p'},
                                           {"pgid", required_argument, nullptr, 'P'},
                                           {"uid", required_argument, nullptr, 'u'},
                                           {"ignore", no_argument, nullptr, 't'},
                                           {"help", no_argument, nullptr, 'h'},
                                           {"version", no_argument, nullptr, 'V'},
                                           {nullptr, 0, nullptr, 0}}};
    std::vector<std::string> copy = words;
    copy.front() = kName;  // as getopt names the program
    std::vector<char*> arguments;
    arguments.reserve(copy.size() + 1);
    for (std::string& word : copy) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    Options options;
    optind = 0;  // starts anew, whatever was parsed before
    for (;;) {
        // '+': the first other word ends the options, so that those behind it are the command's.
        const int letter = ::getopt_long(static_cast<int>(copy.size()), arguments.data(),
                                         "+c:n:p:P:u:thV", kLong.data(), nullptr);
        if (letter == -1) {
            break;
        }
        if (!take(letter, options)) {
            return std::nullopt;
        }
        if (options.instead) {
            IoniceRequest instead;
            instead.action = *options.instead;
            return instead;
        }
    }
    return request(options, {copy.begin() + optind, copy.end()});
}

int failed(const std::string& text, std::ostream& err) {
    err << fmt::format("{}: {}\n", kName, text);
    return kExitFailed;
}

int show(const IoniceRequest& request, std::ostream& out, std::ostream& err) {
    for (const IoTarget& target : request.targets) {
        const auto priority = sched::io_priority(target);
        if (!priority) {
            out.flush();
            return failed(priority.error().message(), err);
        }
        out << describe(*priority) << '\n';
    }
    return 0;
}

int set(const IoniceRequest& request, std::ostream& err) {
    for (const IoTarget& target : request.targets) {
        const auto done = sched::set_io_priority(target, request.wanted);
        if (!done && !request.tolerant) {
            return failed(done.error().message(), err);
        }
    }
    return 0;
}

int run(const IoniceRequest& request, std::ostream& err) {
    const auto done = sched::set_io_priority({}, request.wanted);
    if (!done && !request.tolerant) {
        return failed(done.error().message(), err);
    }
    std::vector<std::string> copy = request.command;
    std::vector<char*> arguments;
    arguments.reserve(copy.size() + 1);
    for (std::string& word : copy) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    const int code = errno;
    failed(fmt::format("failed to execute {}: {}", request.command.front(),
                       std::generic_category().message(code)),
           err);
    return code == ENOENT ? kExitNotFound : kExitCannotExecute;
}

int act(const IoniceRequest& request, std::string_view version, std::ostream& out,
        std::ostream& err) {
    switch (request.action) {
        case IoniceRequest::Action::kShow:
            return show(request, out, err);
        case IoniceRequest::Action::kSet:
            return set(request, err);
        case IoniceRequest::Action::kRun:
            return run(request, err);
        case IoniceRequest::Action::kHelp:
            out << kHelp;
            return 0;
        case IoniceRequest::Action::kVersion:
            out << fmt::format("{} {}\n", kName, version);
            return 0;
    }
    return kExitFailed;
}

}  // namespace

std::optional<IoniceRequest> parse_ionice(const std::vector<std::string>& words,
                                          std::ostream& err) {
    return Parser(err).parse(words);
}

int ionice(const std::vector<std::string>& words, std::string_view version, std::ostream& out,
           std::ostream& err) {
    const auto request = parse_ionice(words, err);
    if (!request) {
        return kExitFailed;
    }
    const int status = act(*request, version, out, err);
    return out.flush() ? status : failed("write error", err);
}

}  // namespace lull::replayer
