// A broken promise shows as a table that somebody else could have written and that is read all the
// same (rule S1), or as one that is refused without a reason.
//
// Whoever runs this is root or not: what is asked of owners is asked from both sides by changing
// whom the table is expected of.

#include <rota/job/table_file.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "job/tables.h"
#include "support/scratch_folder.h"

namespace rota::job::test {
namespace {

namespace fs = std::filesystem;

class TableFile : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

  std::string make(const std::string& name, const std::string& text, mode_t mode = 0644) {
    std::ofstream{path(name), std::ios::binary} << text;
    chmod(path(name).c_str(), mode);
    return path(name);
  }

  rota::test::scratch_folder folder_;
};

TEST_F(TableFile, AFileOfOneselfIsRead) {
  const opened_table t = open_table(make("tab", "@daily x\n", 0600));
  EXPECT_EQ(t.fault, table_fault::none) << t.text;
  EXPECT_EQ(t.text, "@daily x\n");
  EXPECT_EQ(t.owner, geteuid());
  EXPECT_TRUE(open_table(make("empty", "")));
}

TEST_F(TableFile, S1LinksAreNotFollowed) {
  fs::create_symlink(make("tab", "@daily x\n"), path("link"));
  fs::create_symlink("nowhere", path("broken"));
  EXPECT_EQ(open_table(path("link")).fault, table_fault::is_link);
  EXPECT_EQ(open_table(path("broken")).fault, table_fault::is_link);
}

TEST_F(TableFile, S1OnlyRegularFilesAreRead) {
  fs::create_directory(path("folder"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(open_table(path("folder")).fault, table_fault::not_regular);
  EXPECT_EQ(open_table(path("pipe")).fault, table_fault::not_regular);  // and nobody waits for it
  EXPECT_EQ(open_table("/dev/null").fault, table_fault::not_regular);
  const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(s, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(open_table(path("socket")).fault, table_fault::not_regular);
  close(s);
}

TEST_F(TableFile, S1AFileThatIsNotThereSaysSo) {
  EXPECT_EQ(open_table(path("none")).fault, table_fault::missing);
  EXPECT_EQ(open_table(path("none/tab")).fault, table_fault::missing);
  EXPECT_EQ(open_table(make("tab", "") + "/x").fault, table_fault::unreadable);
}

TEST_F(TableFile, S1NobodyElseMayWriteTheFile) {
  EXPECT_EQ(open_table(make("group", "", 0664)).fault, table_fault::writable);
  EXPECT_EQ(open_table(make("other", "", 0646)).fault, table_fault::writable);
  EXPECT_TRUE(open_table(make("fine", "", 0755)));
}

TEST_F(TableFile, S1TheFileIsThatOfTheExpectedUserOrOfRoot) {
  make("tab", "");
  const uid_t somebody = 54321;
  // A file of root is fine whoever is expected. Others' files are not; root can make one.
  const bool is_root = geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(chown(path("tab").c_str(), somebody, static_cast<gid_t>(-1)), 0);
    EXPECT_EQ(open_table(path("tab")).fault, table_fault::wrong_owner);
    EXPECT_EQ(open_table(path("tab"), {.user = somebody + 1}).fault, table_fault::wrong_owner);
    EXPECT_TRUE(open_table(path("tab"), {.user = somebody}));
    EXPECT_EQ(open_table(path("tab"), {.user = somebody}).owner, somebody);
  } else {
    // In a directory of root it is the file that is wrong.
    const std::string moved =
        "/tmp/" + std::filesystem::path(folder_.path()).filename().string() + ".tab";
    std::ofstream{moved} << "";
    EXPECT_EQ(open_table(moved, {.user = somebody}).fault, table_fault::wrong_owner);
    EXPECT_TRUE(open_table(moved));
    fs::remove(moved);
  }
  EXPECT_TRUE(open_table("/etc/passwd", {.user = somebody}));
}

TEST_F(TableFile, S1InADirectoryOfUsersAFileHasTheNameOfItsOwner) {
  const std::string me = user_name(geteuid());
  const table_expectations by_user{.named_by_user = true};
  EXPECT_TRUE(open_table(make(me, "@daily x\n"), by_user));
  const opened_table other = open_table(make("daemon", "@daily x\n"), by_user);
  EXPECT_EQ(other.fault, table_fault::wrong_name);
  EXPECT_EQ(other.text, "the file belongs to " + me +
                            ", but is named as that of daemon; a table here has the name of the "
                            "user whose it is");
  EXPECT_EQ(open_table(make("nobody-is-called-so", ""), by_user).fault, table_fault::wrong_name);
  EXPECT_TRUE(open_table(path("daemon")));  // a file that was named itself
  fs::create_hard_link(path(me), path("second"));
  EXPECT_EQ(open_table(path(me), by_user).fault, table_fault::linked);
  EXPECT_TRUE(open_table(path(me)));
}

TEST_F(TableFile, S1TheDirectoryIsThatOfTheExpectedUserOrOfRoot) {
  make("tab", "");
  const uid_t somebody = 54321;
  if (geteuid() == 0) {
    ASSERT_EQ(chown(folder_.path().c_str(), somebody, static_cast<gid_t>(-1)), 0);
    EXPECT_EQ(open_table(path("tab")).fault, table_fault::directory_owner);
    EXPECT_TRUE(open_table(path("tab"), {.user = somebody}));
  } else {
    EXPECT_EQ(open_table(path("tab"), {.user = somebody}).fault, table_fault::directory_owner);
    EXPECT_TRUE(open_table(path("tab")));
  }
}

TEST_F(TableFile, S1OthersCannotPutFilesIntoTheDirectory) {
  make("tab", "");
  chmod(folder_.path().c_str(), 0775);
  EXPECT_EQ(open_table(path("tab")).fault, table_fault::directory_writable);
  chmod(folder_.path().c_str(), 0777);
  EXPECT_EQ(open_table(path("tab")).fault, table_fault::directory_writable);
  chmod(folder_.path().c_str(), 01730);  // /var/spool/cron/crontabs
  EXPECT_TRUE(open_table(path("tab")));
}

TEST_F(TableFile, S1LargeFilesAreNotRead) {
  make("tab", std::string(1001, '\n'));
  EXPECT_EQ(open_table(path("tab"), {.size = 1000}).fault, table_fault::too_large);
  EXPECT_TRUE(open_table(path("tab"), {.size = 1001}));
  // One that says it is empty is not read for ever either.
  EXPECT_EQ(open_table("/proc/self/environ", {.size = 1}).fault, table_fault::too_large);
}

TEST_F(TableFile, AFaultIsAnErrorOfTheTable) {
  make("tab", "@daily x\n", 0666);
  const table t = load_table({.file = path("tab")});
  EXPECT_FALSE(t.ok());
  EXPECT_EQ(joined(t.problems), path("tab") +
                                    ": others can write the file (mode 0666); take that "
                                    "from them: chmod go-w\n");
}

TEST_F(TableFile, TheOwnerIsThatOfTheFileUnlessGiven) {
  make("tab", "@daily x\n");
  EXPECT_EQ(load_table({.file = path("tab")}).jobs.at(0).owner, user_name(geteuid()));
  const table given = load_table({.file = path("tab"), .owner = "alice"});
  EXPECT_EQ(given.jobs.at(0).owner, "alice");
  EXPECT_EQ(given.jobs.at(0).surroundings->user, "alice");
}

TEST_F(TableFile, FormsAreKnownByTheNames) {
  EXPECT_EQ(form_of("jobs/a.toml"), table_form::toml);
  EXPECT_EQ(form_of("/etc/crontab"), table_form::system_crontab);
  EXPECT_EQ(form_of("/etc/cron.d/php"), table_form::system_crontab);
  EXPECT_EQ(form_of("cron.d/php"), table_form::system_crontab);
  EXPECT_EQ(form_of("/var/spool/cron/crontabs/alice"), table_form::user_crontab);
  EXPECT_EQ(form_of("crontab"), table_form::user_crontab);
}

TEST_F(TableFile, TablesOfADirectoryAreListed) {
  for (const char* name :
       {"b.toml", "a.toml", ".hidden.toml", "php", "php.dpkg-old", "x~", "B_1-2"})
    make(name, "");
  using names = std::vector<std::string>;
  EXPECT_EQ(list_tables(folder_.path(), table_form::toml), (names{path("a.toml"), path("b.toml")}));
  EXPECT_EQ(list_tables(folder_.path(), table_form::system_crontab),
            (names{path("B_1-2"), path("php")}));
  EXPECT_EQ(list_tables(path("none"), table_form::toml), std::nullopt);
}

TEST_F(TableFile, UsersHaveNamesOrNumbers) {
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(user_name(54321), "54321");
}

}  // namespace
}  // namespace rota::job::test
