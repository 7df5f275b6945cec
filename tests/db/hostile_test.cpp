// SPDX-License-Identifier: MIT
// Files that are torn, foreign or made to harm.
#include <functional>
#include <random>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "db/check.hpp"
#include "db/database.hpp"
#include "db/show.hpp"
#include "tests/db/sample.hpp"

namespace lull::db {
namespace {

class HostileTest : public ::testing::Test {
  protected:
    HostileTest() {
        const auto stored = store(path_, sample_trace());
        EXPECT_TRUE(stored) << stored.error().message();
    }

    [[nodiscard]] int open_error() const {
        const auto database = Database::open(path_);
        return database ? 0 : database.error().code;
    }

    [[nodiscard]] Result<bool> checked() const {
        std::ostringstream out;
        return check({.path = path_}, out);
    }

    /// store() must refuse the file with `code` and leave every byte of it.
    void expect_left_alone(int code) const {
        const std::string before = read_file(path_);
        const auto names = directory_.names();
        const auto stored = store(path_, sample_trace(2));
        ASSERT_FALSE(stored);
        EXPECT_EQ(stored.error().code, code) << stored.error().message();
        EXPECT_EQ(read_file(path_), before);
        EXPECT_EQ(directory_.names(), names);
    }

    TemporaryDirectory directory_;
    std::string path_ = directory_.path("traces.db");
};

TEST_F(HostileTest, ASoundFileIsSound) {
    const auto sound = checked();
    ASSERT_TRUE(sound) << sound.error().message();
    EXPECT_TRUE(*sound);
}

TEST_F(HostileTest, RefusesWhatIsNotADatabaseOfLull) {
    for (const std::string& content :
         {std::string(), std::string("text"), std::string(5000, '\0')}) {
        write_file(path_, content);
        EXPECT_EQ(open_error(), EMEDIUMTYPE);
        EXPECT_EQ(checked().error().code, EMEDIUMTYPE);
        expect_left_alone(EMEDIUMTYPE);
    }
}

TEST_F(HostileTest, RefusesTheDatabaseOfAnotherProgram) {
    sql(path_, "PRAGMA application_id = 12");
    EXPECT_EQ(open_error(), EMEDIUMTYPE);
    expect_left_alone(EMEDIUMTYPE);
}

TEST_F(HostileTest, RefusesADirectoryAndAFifo) {
    EXPECT_EQ(Database::open(directory_.path()).error().code, EMEDIUMTYPE);
    const std::string fifo = directory_.path("fifo");
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_EQ(Database::open(fifo).error().code, EMEDIUMTYPE);
    EXPECT_EQ(Database::open(directory_.path("none")).error().code, ENOENT);
    EXPECT_EQ(Database::open(std::string("a\0b", 3)).error().code, EINVAL);
}

TEST_F(HostileTest, RefusesANewerVersionWithTheRemedy) {
    sql(path_, "PRAGMA user_version = 99");
    const auto database = Database::open(path_);
    ASSERT_FALSE(database);
    EXPECT_EQ(database.error().code, EOPNOTSUPP);
    EXPECT_NE(database.error().what.find("update lull"), std::string::npos);
    EXPECT_FALSE(*checked());
    expect_left_alone(EOPNOTSUPP);
}

TEST_F(HostileTest, RefusesAVersionThatNothingLeadsOnFrom) {
    sql(path_, "PRAGMA user_version = 0");
    EXPECT_EQ(open_error(), EOPNOTSUPP);
    EXPECT_FALSE(*checked());
    expect_left_alone(EOPNOTSUPP);
}

TEST_F(HostileTest, RefusesAFileWithAJournalBesideIt) {
    for (const char* suffix : {"-journal", "-wal"}) {
        write_file(path_ + suffix, "");
        EXPECT_EQ(open_error(), 0) << "an empty journal is harmless";
        write_file(path_ + suffix, "hot");
        EXPECT_EQ(open_error(), EBUSY);
        EXPECT_FALSE(*checked());
        expect_left_alone(EBUSY);
        const auto fresh = Database::create();
        ASSERT_TRUE(fresh);
        EXPECT_EQ(fresh->publish(path_).error().code, EBUSY);
        std::filesystem::remove(path_ + suffix);
    }
}

TEST_F(HostileTest, ReadsAndReplacesAFileThatWasLeftInWalMode) {
    sql(path_, "PRAGMA journal_mode = WAL");
    ASSERT_EQ(read_file(path_).substr(18, 2), "\2\2");
    const auto database = Database::open(path_);
    ASSERT_TRUE(database) << database.error().message();
    EXPECT_EQ(lines_of(*database->trace(1)), lines_of(sample_trace()));
    const auto stored = store(path_, sample_trace(2));
    ASSERT_TRUE(stored) << stored.error().message();
    EXPECT_EQ(read_file(path_).substr(18, 2), "\1\1");
    EXPECT_TRUE(*checked());
}

TEST_F(HostileTest, RefusesFilesAboveTheLimitButChecksThem) {
    std::filesystem::resize_file(path_, (std::uint64_t{1} << 30) + 4096);  // sparse
    EXPECT_EQ(open_error(), EFBIG);
    EXPECT_EQ(store(path_, sample_trace(2)).error().code, EFBIG);
    EXPECT_TRUE(checked());
    EXPECT_EQ(std::filesystem::file_size(path_), (std::uint64_t{1} << 30) + 4096);
}

class ForeignObjectTest : public HostileTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ForeignObjectTest, IsRefusedByName) {
    sql(path_, GetParam());
    const auto database = Database::open(path_);
    ASSERT_FALSE(database);
    EXPECT_EQ(database.error().code, EPERM);
    EXPECT_NE(database.error().what.find("that lull did not make"), std::string::npos);
    EXPECT_FALSE(*checked());
    expect_left_alone(EPERM);
}

INSTANTIATE_TEST_SUITE_P(
    Objects, ForeignObjectTest,
    ::testing::Values("CREATE TRIGGER t AFTER INSERT ON boots BEGIN DELETE FROM reads; END",
                      "CREATE VIEW v AS SELECT * FROM boots", "CREATE TABLE other (a)",
                      "CREATE INDEX other ON files (path)",
                      "CREATE VIRTUAL TABLE other USING fts5 (a)", "ANALYZE"));

TEST_F(HostileTest, ASchemaThatDiffersIsDamage) {
    sql(path_, "DROP INDEX reads_file");
    EXPECT_EQ(open_error(), EUCLEAN);
    EXPECT_FALSE(*checked());
}

TEST_F(HostileTest, AnAlteredConstraintIsDamage) {
    sql(path_,
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'pages > 0', "
        "'pages > -9') WHERE name = 'reads'");
    EXPECT_EQ(open_error(), EUCLEAN);
}

class HostileRowTest : public HostileTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(HostileRowTest, IsNotBelieved) {
    sql(path_, std::string("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; ") +
                   GetParam());
    const auto database = Database::open(path_);
    ASSERT_TRUE(database) << database.error().message();
    const auto trace = database->trace(1);
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().code, EINVAL) << trace.error().message();
    const auto sound = checked();
    ASSERT_TRUE(sound) << sound.error().message();
    EXPECT_FALSE(*sound);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, HostileRowTest,
    ::testing::Values(
        "UPDATE files SET path = '/../etc/shadow' WHERE inode = 10",
        "UPDATE files SET path = 'etc/shadow' WHERE inode = 10",
        "UPDATE files SET path = CAST(x'2f6100' AS TEXT) WHERE inode = 10",
        "UPDATE files SET size = -1 WHERE inode = 10", "UPDATE files SET kind = 9 WHERE inode = 10",
        "UPDATE files SET kind = 256 WHERE inode = 10",
        "UPDATE files SET generation = 4294967296 WHERE inode = 10",
        "UPDATE files SET device = 77 WHERE inode = 10", "UPDATE devices SET mount_point = 'x'",
        "UPDATE devices SET major = -1 WHERE fs_type = 'ext4'",
        "UPDATE reads SET first_page = -1 WHERE pages = 32",
        "UPDATE reads SET first_page = 9223372036854775807 WHERE pages = 32",
        "UPDATE reads SET first_page = 1099511627775 WHERE pages = 32",
        "UPDATE reads SET pages = 0 WHERE pages = 32",
        "UPDATE reads SET pages = 4294967297 WHERE pages = 32",
        "UPDATE reads SET pages = 41 WHERE pages = 32", "UPDATE reads SET use = 3 WHERE pages = 32",
        "UPDATE reads SET source = -1 WHERE pages = 32",
        "UPDATE reads SET source = 5 WHERE pages = 32",
        "UPDATE reads SET first_use_ns = -1 WHERE pages = 32",
        "UPDATE reads SET process = 77 WHERE pages = 32",
        "UPDATE reads SET disk_position = -4096 WHERE pages = 32",
        "UPDATE reads SET file = 77 WHERE pages = 32",
        "UPDATE processes SET pid = 4294967296 WHERE pid = 1",
        "UPDATE processes SET first_use_ns = -1 WHERE pid = 1", "UPDATE boots SET duration_ns = -1",
        "UPDATE boots SET lost_opens = -1"));

TEST_F(HostileTest, ADamagedFileIsKeptAsideAndReplaced) {
    std::string content = read_file(path_);
    content.resize(content.size() - 4096);
    write_file(path_, content);
    EXPECT_EQ(open_error(), EUCLEAN);
    EXPECT_FALSE(*checked());
    write_file(path_ + ".corrupt", "an older one");
    std::string warning;
    const auto stored = store(path_, sample_trace(2), kKeepBoots, &warning);
    ASSERT_TRUE(stored) << stored.error().message();
    EXPECT_NE(warning.find("traces.db.corrupt"), std::string::npos) << warning;
    EXPECT_EQ(read_file(path_ + ".corrupt"), content);
    EXPECT_EQ(directory_.names(), (std::vector<std::string>{"traces.db", "traces.db.corrupt"}));
    EXPECT_TRUE(*checked());
    warning.clear();
    ASSERT_TRUE(store(path_, sample_trace(3), kKeepBoots, &warning));
    EXPECT_TRUE(warning.empty());
}

/// Everything that reads the file has to come back, and what it says must be consistent.
void read_all(const std::string& path) {
    std::ostringstream out;
    const auto sound = check({.path = path}, out);
    const auto database = Database::open(path);
    if (database) {
        const auto boots = database->boots();
        for (std::size_t i = 0; boots && i < boots->size(); ++i) {
            const auto trace = database->trace((*boots)[i].id);
            EXPECT_TRUE(trace || !sound || !*sound) << trace.error().message();
        }
        ShowOptions options;
        options.path = path;
        static_cast<void>(show(options, out).ok());
    }
    EXPECT_TRUE(database || !sound || !*sound) << database.error().message();
}

class TornTest : public HostileTest {
  protected:
    /// Spoils the file in 100 ways drawn from `seed`, reads it each time and stores over it.
    void torture(unsigned seed, const std::function<void(std::mt19937&, std::string&)>& spoil) {
        ASSERT_TRUE(store(path_, sample_trace(2)));
        const std::string sound = read_file(path_);
        for (int round = 0; round < 100; ++round) {
            SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
            std::seed_seq sequence{seed, static_cast<unsigned>(round)};
            std::mt19937 random(sequence);
            std::string content = sound;
            spoil(random, content);
            write_file(path_, content);
            read_all(path_);
            if (store(path_, sample_trace(3))) {
                const auto database = Database::open(path_);
                ASSERT_TRUE(database) << database.error().message();
                const auto boots = database->boots();
                ASSERT_TRUE(boots) << boots.error().message();
                EXPECT_TRUE(database->trace(boots->back().id));
            } else {
                EXPECT_EQ(read_file(path_), content);
            }
            ASSERT_FALSE(HasFatalFailure());
        }
    }
};

TEST_F(TornTest, FlippedBitsNeverCrash) {
    torture(20'041, [](std::mt19937& random, std::string& content) {
        for (unsigned flips = 1 + random() % 8; flips != 0; --flips) {
            content[random() % content.size()] ^= static_cast<char>(1U << random() % 8);
        }
    });
}

TEST_F(TornTest, SpoiledPageHeadersNeverCrash) {
    torture(20'042, [](std::mt19937& random, std::string& content) {
        const std::size_t page = random() % (content.size() / 4096);
        const std::size_t start = page * 4096 + (page == 0 ? 100 : 0);
        for (int i = 0; i < 4; ++i) {
            content[start + random() % 40] = static_cast<char>(random());
        }
    });
}

TEST_F(TornTest, ShortFilesNeverCrash) {
    torture(20'043, [](std::mt19937& random, std::string& content) {
        content.resize(random() % content.size());
    });
}

TEST_F(TornTest, PagesOfAnotherStateNeverCrash) {
    torture(20'044, [](std::mt19937& random, std::string& content) {
        const std::size_t pages = content.size() / 4096;
        const std::string page = content.substr(random() % pages * 4096, 4096);
        content.replace(random() % pages * 4096, 4096, page);
    });
}

}  // namespace
}  // namespace lull::db
