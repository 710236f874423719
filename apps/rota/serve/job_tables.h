// The tables of the daemon: files and directories that are watched, and jobs that were added by
// `rota job add`, which the ledger keeps. Together they are what the engine has (rule K4).
//
//   job_tables tables{loop, options, engine, ledger, events};
//   tables.start(now);         // watches first, then reads: nothing written in between is missed
//
// Promised: a table that is wrong, alone or together with the others, changes nothing. Its last
// good version stays, and its status says what is wrong. That version is kept in the state
// directory, so that it also outlives the daemon. A file that was named and is gone counts as
// wrong; one that is gone from a directory takes its jobs with it. What is not used, be it a table
// or a job that was added, is tried again with each change.
#ifndef ROTA_APPS_SERVE_JOB_TABLES_H
#define ROTA_APPS_SERVE_JOB_TABLES_H

#include <rota/job/engine.h>
#include <rota/job/interner.h>
#include <rota/job/sqlite_ledger.h>
#include <rota/job/table.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "loop.h"

namespace rota::app {

struct table_status {
  std::string file;
  bool ok = false;
  std::string error;  // what, and what would be right; lines
  instant loaded{};   // the version in use; zero: none
  std::size_t jobs = 0;
};

class job_tables {
 public:
  struct source {
    std::string path;  // a file or a directory
    job::table_form form;
  };
  struct options {
    std::vector<source> sources;
    std::string last_good;  // a directory for the last good versions
    time_zone zone;
    dst_rule dst;
    cron_syntax syntax;
  };
  struct events {
    std::function<void(const std::string&)> log;
    std::function<void()> reloaded;
    std::function<instant()> now;
  };

  job_tables(loop& l, options o, job::engine& e, job::sqlite_ledger& s, events ev);
  ~job_tables();
  job_tables(const job_tables&) = delete;
  job_tables& operator=(const job_tables&) = delete;

  void start(instant now);
  // Reads all files again.
  void reload(instant now);

  // Adds a job or changes it. Gives what is wrong with it, or nothing.
  std::string add(const std::string& name, const std::string& owner, const std::string& toml,
                  instant now);
  // Gives what forbids it, or nothing.
  std::string remove(const std::string& name, instant now);

  // Whose job that was added has the name, also if it is not used; nothing if there is none.
  std::optional<std::string> added_by(const std::string& name) const;

  // Of all that somebody has added, used or not, without the one of that name.
  std::size_t bytes_of(const std::string& owner, const std::string& but) const;

  // Of a job that was added, as it was written; nothing of others.
  std::optional<std::string> text_of(const std::string& name) const;

  std::vector<table_status> status() const;
  const job::group_caps& groups() const { return groups_; }

 private:
  struct entry {
    job::table_form form = job::table_form::toml;
    bool from_directory = false;
    std::optional<job::table> good;  // in use; its jobs are there between unpack() and settle()
    bool packed = false;             // they are not
    std::size_t count = 0;           // of jobs in use
    std::optional<job::table> candidate;  // read, and perhaps to be used
    std::string text;                     // of the candidate, to be kept as the last good one
    std::string error;
    instant loaded{};
  };
  struct added_job {
    std::string owner;
    std::string toml;
    job::table table = {};  // as in `entry`
    bool packed = false;
    bool used = true;
    std::string error = {};  // why it is not
  };

  void watch_directories();
  void on_change();
  void remember_directories();
  void find_files();
  void read(const std::string& path, entry& e);
  void read_added();
  void bring_back();
  job::table_options options_for(const std::string& file, job::table_form form) const;
  // Settles which versions are used, and gives them to the engine.
  void settle(instant now);
  void unpack();
  void pack();
  std::vector<job::problem> problems_together();
  bool give_way(const job::problem& p);
  void step_back(const std::string& path, entry& e, const job::problem& p);
  void leave_out(const std::string& name, added_job& a, const std::string& error);
  void say(const std::string& file, entry& e, const std::string& error);
  std::string keep_path(const std::string& file) const;
  void keep_good(const std::string& file, const entry& e);
  void read_kept(const std::string& file, entry& e);

  loop& loop_;
  options options_;
  job::engine& engine_;
  job::sqlite_ledger& ledger_;
  events events_;
  mutable job::interner shared_;
  std::map<std::string, entry> files_;
  std::map<std::string, added_job> added_;
  job::group_caps groups_;

  int inotify_ = -1;
  std::map<int, std::string> watches_;  // directories, by watch
  std::set<std::string> directories_;   // sources that are, or were, directories
  std::set<std::string> unwatched_;     // those that are not there
  std::set<std::string> dirty_;         // files to be read again
  bool all_dirty_ = false;
  bool rewatch_due_ = false;
  timer soon_;     // a moment after a change
  timer rewatch_;  // while a directory is not there
};

bool is_directory(const std::string& path);
std::string directory_of(const std::string& path);

}  // namespace rota::app

#endif
