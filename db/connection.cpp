// SPDX-License-Identifier: MIT
#include "db/connection.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/fd.hpp"
#include "schema.hpp"

namespace lull::db {
namespace {

constexpr std::size_t kHeaderSize = 100;
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::uint32_t kUtf8 = 1;
// Charts are the largest values; nothing of ours comes near.
constexpr int kMaxValueSize = 64 << 20;
constexpr int kMaxStatementSize = 1 << 20;
constexpr int kMaxFindings = 20;

std::uint32_t big_endian(std::span<const unsigned char> bytes) {
    std::uint32_t value = 0;
    for (const unsigned char byte : bytes) {
        value = value << 8 | byte;
    }
    return value;
}

Error not_ours(const std::string& path, std::string_view why) {
    return {EMEDIUMTYPE, fmt::format("{}: not a trace database of lull ({})", path, why)};
}

Result<Fd> open_regular(const std::string& path, std::uint64_t& size) {
    // O_NONBLOCK: a FIFO in place of the file must not hang us.
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
        return last_error(path);
    }
    if (!S_ISREG(status.st_mode)) {
        return not_ours(path, "not a regular file");
    }
    size = static_cast<std::uint64_t>(status.st_size);
    return fd;
}

Result<void> read_exactly(const Fd& fd, std::span<unsigned char> into, const std::string& path) {
    std::size_t done = 0;
    while (done < into.size()) {
        const auto got =
            ::pread(fd.get(), into.data() + done, into.size() - done, static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return last_error(path);
        }
        if (got == 0) {
            return Error{EUCLEAN, path + ": became shorter while it was read"};
        }
        done += static_cast<std::size_t>(got);
    }
    return {};
}

Result<Header> judge(std::span<const unsigned char, kHeaderSize> raw, std::uint64_t file_size,
                     const std::string& path) {
    Header header{.file_size = file_size};
    const std::uint32_t page = big_endian(raw.subspan(16, 2));
    header.page_size = page == 1 ? 65536 : page;
    header.version = big_endian(raw.subspan(60, 4));
    if (big_endian(raw.subspan(68, 4)) != kApplicationId) {
        return not_ours(path, "a database of another program");
    }
    if (header.version > kVersion) {
        return Error{EOPNOTSUPP,
                     fmt::format("{}: written by a newer lull (version {}, this one knows {}); "
                                 "update lull, or move the file away to begin a new one",
                                 path, header.version, kVersion)};
    }
    if (header.page_size < 512 || (header.page_size & (header.page_size - 1)) != 0) {
        return Error{EUCLEAN, fmt::format("{}: impossible page size {}", path, page)};
    }
    const std::uint64_t stated = std::uint64_t{big_endian(raw.subspan(28, 4))} * header.page_size;
    if (file_size % header.page_size != 0 || file_size < stated) {
        return Error{EUCLEAN, fmt::format("{}: torn or cut short ({} bytes, should be {})", path,
                                          file_size, stated)};
    }
    if (big_endian(raw.subspan(56, 4)) != kUtf8) {
        return Error{EUCLEAN, path + ": text is not stored as bytes"};
    }
    return header;
}

std::string immutable_uri(const std::string& path) {
    std::string uri = "file:";
    for (const unsigned char byte : std::filesystem::absolute(path).string()) {
        const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= '0' && byte <= '9') || byte == '/' || byte == '.' ||
                           byte == '_' || byte == '-';
        uri += plain ? std::string(1, static_cast<char>(byte)) : fmt::format("%{:02x}", byte);
    }
    return uri + "?immutable=1";
}

void harden(SQLite::Database& connection) {
    sqlite3* handle = connection.getHandle();
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxValueSize);
    sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, kMaxStatementSize);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 1);  // VACUUM attaches the copy it makes
    sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 2);
    connection.exec("PRAGMA cell_size_check = ON");
    connection.exec("PRAGMA temp_store = MEMORY");  // no temporary file is ever left behind
    connection.exec("PRAGMA foreign_keys = ON");
}

struct SqliteFree {
    void operator()(unsigned char* bytes) const { sqlite3_free(bytes); }
};
using Image = std::unique_ptr<unsigned char, SqliteFree>;

/// Gives `image` to a connection, which then works on it in place.
Result<SQLite::Database> connect_image(Image image, std::uint64_t size, const std::string& name) {
    return guarded(name, [&]() -> Result<SQLite::Database> {
        SQLite::Database connection(":memory:", SQLite::OPEN_READWRITE);
        const auto bytes = static_cast<sqlite3_int64>(size);
        // SQLite frees the image in every case, also when this fails.
        const int code =
            sqlite3_deserialize(connection.getHandle(), "main", image.release(), bytes, bytes,
                                SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
        if (code != SQLITE_OK) {
            return to_error(SQLite::Exception(connection.getHandle(), code), name);
        }
        harden(connection);
        return connection;
    });
}

using Objects = std::map<std::string, std::string>;

Objects schema_objects(SQLite::Database& connection) {
    Objects objects;
    SQLite::Statement query(connection,
                            "SELECT type || ' ' || name, tbl_name || ': ' || "
                            "ifnull(sql, '') FROM sqlite_schema");
    while (query.executeStep()) {
        objects.emplace(query.getColumn(0).getString(), query.getColumn(1).getString());
    }
    return objects;
}

}  // namespace

Error to_error(const SQLite::Exception& exception, const std::string& context) {
    int code = EIO;
    switch (exception.getErrorCode() & 0xff) {
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_ERROR:  // a schema that does not parse, a table that is not there
        case SQLITE_TOOBIG:
        case SQLITE_MISMATCH:
            code = EUCLEAN;
            break;
        case SQLITE_CONSTRAINT:
            code = EINVAL;
            break;
        case SQLITE_NOMEM:
            code = ENOMEM;
            break;
        case SQLITE_FULL:
            code = EFBIG;
            break;
        case SQLITE_CANTOPEN:
            code = ENOENT;
            break;
        case SQLITE_READONLY:
            code = EROFS;
            break;
        default:
            break;
    }
    return {code, fmt::format("{}: {}", context, exception.what())};
}

Result<void> check_no_journal(const std::string& path) {
    for (const char* suffix : {"-journal", "-wal"}) {
        struct stat status {};
        if (::stat((path + suffix).c_str(), &status) == 0 && status.st_size > 0) {
            return Error{EBUSY,
                         fmt::format("{0}: another program was changing it and left {0}{1}; run "
                                     "sqlite3 '{0}' 'PRAGMA journal_mode=DELETE; SELECT count(*) "
                                     "FROM boots' to settle it",
                                     path, suffix)};
        }
    }
    return {};
}

Result<Header> read_header(const std::string& path, std::uint64_t max_size) {
    if (path.find('\0') != std::string::npos) {
        return Error{EINVAL, "the name of a database holds a NUL byte"};
    }
    std::uint64_t size = 0;
    const auto fd = open_regular(path, size);
    if (!fd) {
        return fd.error();
    }
    if (size < kHeaderSize) {
        return not_ours(path, size == 0 ? "empty" : "too short");
    }
    std::array<unsigned char, kHeaderSize> raw{};
    if (const auto read = read_exactly(*fd, raw, path); !read) {
        return read.error();
    }
    if (std::string_view(reinterpret_cast<const char*>(raw.data()), kMagic.size()) != kMagic) {
        return not_ours(path, "not SQLite");
    }
    auto header = judge(raw, size, path);
    if (header && size > max_size) {
        return Error{EFBIG, fmt::format("{}: {} bytes, more than the {} that are believed", path,
                                        size, max_size)};
    }
    if (header) {
        if (const auto quiet = check_no_journal(path); !quiet) {
            return quiet.error();
        }
    }
    return header;
}

Result<SQLite::Database> connect_immutable(const std::string& path) {
    return guarded(path, [&]() -> Result<SQLite::Database> {
        SQLite::Database connection(immutable_uri(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI);
        harden(connection);
        return connection;
    });
}

Result<SQLite::Database> connect_copy(const std::string& path) {
    std::uint64_t size = 0;
    const auto fd = open_regular(path, size);
    if (!fd) {
        return fd.error();
    }
    if (size > kMaxFileSize || size < kHeaderSize) {
        return Error{EFBIG, fmt::format("{}: {} bytes", path, size)};
    }
    Image image(static_cast<unsigned char*>(sqlite3_malloc64(size)));
    if (!image) {
        return Error{ENOMEM, path};
    }
    const std::span bytes(image.get(), size);
    if (const auto read = read_exactly(*fd, bytes, path); !read) {
        return read.error();
    }
    // A database in memory has no write-ahead log. That there is none on the disk is known, so the
    // two version bytes that ask for one can be set back (sqlite3_deserialize says the same).
    bytes[18] = 1;
    bytes[19] = 1;
    return connect_image(std::move(image), size, path);
}

Result<SQLite::Database> connect_new(const char* schema) {
    return guarded("new database", [&]() -> Result<SQLite::Database> {
        SQLite::Database connection(":memory:", SQLite::OPEN_READWRITE);
        connection.exec(schema);
        sqlite3_int64 size = 0;
        // Moved into an image, whose bytes can later be written out without another copy.
        Image image(sqlite3_serialize(connection.getHandle(), "main", &size, 0));
        if (!image) {
            return Error{ENOMEM, "new database"};
        }
        return connect_image(std::move(image), static_cast<std::uint64_t>(size), "new database");
    });
}

Result<void> check_schema(SQLite::Database& connection) {
    auto fresh = connect_new(kSchema);
    if (!fresh) {
        return fresh.error();
    }
    return guarded("schema", [&]() -> Result<void> {
        const Objects expected = schema_objects(*fresh);
        const Objects found = schema_objects(connection);
        for (const auto& [name, text] : found) {
            if (!expected.contains(name)) {
                return Error{EPERM,
                             fmt::format("it holds the {} that lull did not make; drop it", name)};
            }
        }
        for (const auto& [name, text] : expected) {
            const auto same = found.find(name);
            if (same == found.end() || same->second != text) {
                return Error{EUCLEAN, fmt::format("the {} is {}", name,
                                                  same == found.end() ? "missing" : "not lull's")};
            }
        }
        return {};
    });
}

Result<std::vector<std::string>> find_damage(SQLite::Database& connection) {
    return guarded("integrity check", [&]() -> Result<std::vector<std::string>> {
        std::vector<std::string> found;
        SQLite::Statement integrity(connection,
                                    fmt::format("PRAGMA integrity_check({})", kMaxFindings));
        while (integrity.executeStep()) {
            if (std::string line = integrity.getColumn(0).getString(); line != "ok") {
                found.push_back(std::move(line));
            }
        }
        SQLite::Statement keys(connection, "PRAGMA foreign_key_check");
        while (found.size() < kMaxFindings && keys.executeStep()) {
            found.push_back(fmt::format("a row of {} refers to a row of {} that is not there",
                                        keys.getColumn(0).getString(),
                                        keys.getColumn(2).getString()));
        }
        return found;
    });
}

}  // namespace lull::db
