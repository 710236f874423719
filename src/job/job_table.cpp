// The block of an entry: its name, twice the number of arguments and whether a shell gets them, the
// arguments, the input, the text of the schedule. Each text has its length before it, in as many
// bytes as it needs. So no meaning (all but the last text) is the beginning of another one.
#include "job/job_table.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace rota::job {

namespace {

void pack_number(std::string& to, std::size_t n) {
  for (; n >= 128; n >>= 7) to.push_back(static_cast<char>((n & 127) | 128));
  to.push_back(static_cast<char>(n));
}

std::size_t unpack_number(const char*& at) {
  std::size_t n = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    n |= static_cast<std::size_t>(byte & 127) << shift;
    if (byte < 128) return n;
  }
}

std::string_view unpack_text(const char*& at, std::size_t length) {
  const std::string_view text{at, length};
  at += length;
  return text;
}

void pack_text(std::string& to, std::string_view text) {
  pack_number(to, text.size());
  to += text;
}

// What makes a job another one, apart from what is kept elsewhere: name and command.
std::string packed_meaning(const definition& d) {
  std::string all;
  pack_text(all, d.name);
  pack_number(all, d.command.argv.size() * 2 + d.command.shell);
  for (const std::string& argument : d.command.argv) pack_text(all, argument);
  pack_text(all, d.command.input);
  return all;
}

template <class T>
bool equal_or_same(const T* a, const T* b) {
  return a == b || *a == *b;
}

}  // namespace

job_table::job_table() {
  settings_.push_back({std::make_shared<const rota::job::rules>(),
                       std::make_shared<const rota::job::surroundings>(),
                       nullptr,
                       {},
                       1});
  index_.assign(16, no_job);
}

// --- names ---------------------------------------------------------------------------------------

std::string_view job_table::name(job_index i) const {
  const char* at = (*this)[i].block;
  const std::size_t length = unpack_number(at);
  return {at, length};
}

std::size_t job_table::block_size(job_index i) const {
  const job_entry& e = (*this)[i];
  if (e.block == nullptr) return 0;
  const char* at = e.block;
  const auto skip_text = [&] { unpack_text(at, unpack_number(at)); };
  skip_text();
  if (e.setting != 0) {
    for (std::size_t arguments = unpack_number(at) / 2; arguments > 0; --arguments) skip_text();
    skip_text();
    skip_text();
  }
  return static_cast<std::size_t>(at - e.block);
}

// Of an entry whose `setting` is still that of the block that it has.
void job_table::set_block(job_index i, std::string_view bytes) {
  job_entry& e = (*this)[i];
  const std::size_t before = block_size(i);
  if (std::string_view{e.block, before} == bytes) return;
  texts_.let_go(before);
  e.block = bytes.empty() ? nullptr : texts_.put(bytes);
}

// Not while an entry's block and its setting do not fit together.
void job_table::tidy_texts() {
  if (!texts_.is_wasteful()) return;
  text_blocks fresh;
  each([&](job_index i) { (*this)[i].block = fresh.put({(*this)[i].block, block_size(i)}); });
  texts_ = std::move(fresh);
}

// Where the name is, or where it would be put.
std::size_t job_table::slot_of(std::string_view wanted) const {
  const std::size_t mask = index_.size() - 1;
  std::size_t at = std::hash<std::string_view>{}(wanted)&mask;
  while (index_[at] != no_job && name(index_[at]) != wanted) at = (at + 1) & mask;
  return at;
}

job_index job_table::find(std::string_view wanted) const { return index_[slot_of(wanted)]; }

void job_table::expect(std::size_t entries) {
  std::size_t slots = index_.size();
  while (entries * 10 > slots * 7) slots *= 2;
  if (slots > index_.size()) grow_index(slots);
  heap_.reserve(entries);
}

void job_table::grow_index(std::size_t slots) {
  std::vector<job_index> old(slots, no_job);
  old.swap(index_);
  for (const job_index i : old)
    if (i != no_job) index_[slot_of(name(i))] = i;
}

job_index job_table::insert(std::string_view wanted) {
  if ((named_ + 1) * 10 > index_.size() * 7) grow_index(index_.size() * 2);
  job_index i;
  if (free_.empty()) {
    i = entries_++;
    if (i % chunk_size == 0) chunks_.push_back(std::make_unique<job_entry[]>(chunk_size));
  } else {
    i = free_.back();
    free_.pop_back();
  }
  std::string all;
  pack_text(all, wanted);
  set_block(i, all);
  (*this)[i].used = true;
  ++settings_[0].users;
  index_[slot_of(wanted)] = i;
  ++named_;
  return i;
}

void job_table::erase(job_index i) {
  undefine(i);
  // Those behind it move up, if the gap is on their way.
  const std::size_t mask = index_.size() - 1;
  std::size_t gap = slot_of(name(i));
  for (std::size_t at = (gap + 1) & mask; index_[at] != no_job; at = (at + 1) & mask) {
    const std::size_t home = std::hash<std::string_view>{}(name(index_[at]))&mask;
    if (((at - home) & mask) < ((at - gap) & mask)) continue;
    index_[gap] = index_[at];
    gap = at;
  }
  index_[gap] = no_job;
  --named_;
  --settings_[0].users;
  set_block(i, {});
  (*this)[i] = {};
  free_.push_back(i);
  tidy_texts();
}

// --- definitions ---------------------------------------------------------------------------------

std::uint32_t job_table::intern(const definition& d) {
  const setting_key key{d.rules.get(), d.surroundings.get(), d.source.file.get(), d.owner};
  if (const auto known = setting_at_.find(key); known != setting_at_.end()) {
    ++settings_[known->second].users;
    return known->second;
  }
  std::uint32_t at;
  if (free_settings_.empty()) {
    at = static_cast<std::uint32_t>(settings_.size());
    settings_.emplace_back();
  } else {
    at = free_settings_.back();
    free_settings_.pop_back();
  }
  settings_[at] = {d.rules, d.surroundings, d.source.file, d.owner, 1};
  setting_at_.emplace(key_of(settings_[at]), at);
  return at;
}

void job_table::leave_setting(std::uint32_t at) {
  setting& s = settings_[at];
  if (--s.users > 0) return;
  setting_at_.erase(key_of(s));
  s = {};
  free_settings_.push_back(at);
}

void job_table::define(job_index i, const definition& d) {
  job_entry& e = (*this)[i];
  const std::uint32_t fresh = intern(d);
  std::string all = packed_meaning(d);
  pack_text(all, d.text);
  set_block(i, all);
  leave_setting(e.setting);
  if (e.setting == 0) ++defined_;
  e.setting = fresh;
  e.line = d.source.line;
  e.when = {d.when, zones_};
  tidy_texts();
}

void job_table::undefine(job_index i) {
  job_entry& e = (*this)[i];
  if (e.setting == 0) return;
  disarm(i);
  --defined_;
  std::string all;
  pack_text(all, name(i));
  set_block(i, all);
  leave_setting(e.setting);
  e.setting = 0;
  ++settings_[0].users;
  e.when = {};
  e.next = e.wake = never;
  e.status = job_status::none;
  tidy_texts();
}

bool job_table::same(job_index i, const definition& d) const {
  const job_entry& e = (*this)[i];
  if (e.setting == 0) return false;
  const setting& s = settings_[e.setting];
  const std::string meaning = packed_meaning(d);
  // Byte by byte: a difference shows before the block ends.
  const auto differs = std::mismatch(meaning.begin(), meaning.end(), e.block).first;
  return differs == meaning.end() && s.owner == d.owner && when(i) == d.when &&
         equal_or_same(s.rules.get(), d.rules.get()) &&
         equal_or_same(s.surroundings.get(), d.surroundings.get());
}

definition job_table::definition_of(job_index i) const {
  const job_entry& e = (*this)[i];
  const setting& s = settings_[e.setting];
  definition d;
  d.owner = s.owner;
  d.when = when(i);
  d.rules = s.rules;
  d.surroundings = s.surroundings;
  d.source = {s.file, e.line};
  const char* at = e.block;
  d.name = unpack_text(at, unpack_number(at));
  if (e.setting == 0) return d;
  const std::size_t arguments = unpack_number(at);
  d.command.shell = arguments % 2 != 0;
  d.command.argv.reserve(arguments / 2);
  for (std::size_t n = 0; n < arguments / 2; ++n)
    d.command.argv.emplace_back(unpack_text(at, unpack_number(at)));
  d.command.input = unpack_text(at, unpack_number(at));
  d.text = unpack_text(at, unpack_number(at));
  return d;
}

// --- the heap ------------------------------------------------------------------------------------

bool job_table::before(job_index a, job_index b) const { return (*this)[a].wake < (*this)[b].wake; }

void job_table::set_place(std::size_t at, job_index i) {
  heap_[at] = i;
  (*this)[i].place = static_cast<std::uint32_t>(at);
}

void job_table::sift_up(std::size_t at) {
  const job_index i = heap_[at];
  for (; at > 0 && before(i, heap_[(at - 1) / 2]); at = (at - 1) / 2)
    set_place(at, heap_[(at - 1) / 2]);
  set_place(at, i);
}

void job_table::sift_down(std::size_t at) {
  const job_index i = heap_[at];
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], i)) break;
    set_place(at, heap_[child]);
    at = child;
  }
  set_place(at, i);
}

void job_table::arm(job_index i) {
  job_entry& e = (*this)[i];
  if (e.wake == never) return disarm(i);
  if (e.place == no_job) {
    e.place = static_cast<std::uint32_t>(heap_.size());
    heap_.push_back(i);
  }
  sift_up(e.place);
  sift_down(e.place);
}

void job_table::disarm(job_index i) {
  const std::uint32_t at = std::exchange((*this)[i].place, no_job);
  if (at == no_job) return;
  const job_index last = heap_.back();
  heap_.pop_back();
  if (last == i) return;
  set_place(at, last);
  sift_up(at);
  sift_down((*this)[last].place);
}

}  // namespace rota::job
