#include "event/inspector_errands.h"

#include <rota/event/core.h>
#include <rota/event/message.h>
#include <rota/event/service.h>
#include <rota/event/transport.h>
#include <rota/task/runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "event/inspector_look.h"
#include "event/inspector_taps.h"
#include "event/names.h"

namespace rota::detail {

using namespace std::chrono_literals;

json_text ended(const char* why) {
  json_text j;
  j.begin_object().field("end", why).end_object();
  return j;
}

void outbox::sent(std::size_t bytes) {
  gone_ += bytes;
  if (gone_ == waiting_.size()) {
    waiting_.clear();
    if (waiting_.capacity() > 2 * most) waiting_.shrink_to_fit();
    gone_ = 0;
  } else if (gone_ > most) {
    waiting_.erase(0, std::exchange(gone_, 0));
  }
}

void check_count(const request_words& words, std::size_t least, std::size_t most,
                 const char* usage) {
  if (words.size() < least || words.size() > most)
    throw bad_request(std::string("expected: ") + usage);
}

std::uint64_t number_at(const request_words& words, std::size_t at, const char* name,
                        std::uint64_t otherwise, std::uint64_t least, std::uint64_t most) {
  if (at >= words.size()) return otherwise;
  const auto n = parse_number(words[at]);
  if (!n || *n < least || *n > most)
    throw bad_request(std::string(name) + " " + quoted(words[at]) + " is no number from " +
                      std::to_string(least) + " to " + std::to_string(most));
  return *n;
}

namespace {

constexpr const char* inspector_node = "rota-inspect";

// --- names and types ----------------------------------------------------------------------------

// "there is no topic '/poes'; there are /goal, /pose"
template <class Row>
const Row& find_row(const std::vector<Row>& rows, std::string_view name, const char* what) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
  if (found != rows.end()) return *found;
  constexpr std::size_t shown = 20;
  std::string text = "there is no " + std::string(what) + " " + quoted(name);
  if (rows.empty()) text += ", nor any other";
  for (std::size_t i = 0; i < rows.size() && i <= shown; ++i)
    text += (i == 0 ? "; there are " : ", ") + (i < shown ? rows[i].name : std::string("..."));
  throw bad_request(text);
}

const message_type& described_type(const message_type* t, std::string_view type_name,
                                   std::string_view name) {
  const std::string of = quoted(name) + ", of type " + std::string(type_name) + ", ";
  if (!t) throw bad_request(of + "has no end in this process that knows it");
  if (!t->support->is_described())
    throw bad_request(of +
                      "cannot be shown or made: the type is not described; write describe() for "
                      "it (rota/event/describe.h)");
  return *t;
}

struct topic_end {
  endpoint end;
  const message_type& type;
};

// The end of a topic that the inspector is to have.
endpoint end_of_topic(const inspected& on, const graph::topic& row) {
  const transport_capabilities can = on.way.capabilities();
  endpoint e;
  e.name = row.name;
  e.node = inspector_node;
  e.type = row.messages;
  e.qos.depth = on.options.depth;
  e.qos.late_joiner = can.late_joiner;
  e.qos.reliability = can.reliable ? reliability::reliable : reliability::best_effort;
  return e;
}

// --- words --------------------------------------------------------------------------------------

constexpr std::uint64_t most_messages = 1'000'000'000'000;
constexpr double highest_rate = 100'000;

std::vector<std::byte> payload_at(const inspected& on, const request_words& words, std::size_t at) {
  if (words[at].size() / 2 > on.options.max_message)
    throw bad_request("a message of " + std::to_string(words[at].size() / 2) + " bytes; at most " +
                      std::to_string(on.options.max_message));
  auto bytes = parse_hex(words[at]);
  if (!bytes) throw bad_request("the message is not in hex, two digits a byte");
  return *std::move(bytes);
}

message_ref decode_payload(const message_type& type, std::span<const std::byte> bytes) {
  std::string why;
  message_ref m = decode(type, bytes, why);
  if (!m) throw bad_request("no " + std::string(type.support->name()) + ": " + why);
  return m;
}

std::int64_t nanoseconds(sync::time_point::duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

// --- what is answered at once -------------------------------------------------------------------

void put_counters(json_text& j, const handler_counters& c) {
  j.field("runs", c.runs).field("events", c.events).field("dropped", c.dropped);
  j.field("expired", c.expired).field("late", c.late).field("failed", c.failed);
  j.field("pending", c.pending).field("max_passed", c.max_passed);
}

enum class end_kind : std::uint8_t { publisher, subscriber, server, client };

void put_ends(json_text& j, std::string_view name, const std::vector<graph::end>& ends,
              end_kind kind) {
  j.key(name).begin_array();
  for (const graph::end& e : ends) {
    j.begin_object().field("node", e.node);
    if (kind == end_kind::publisher) j.field("published", e.counters.events);
    if (kind == end_kind::subscriber) j.field("depth", e.depth);
    if (kind == end_kind::subscriber || kind == end_kind::server) put_counters(j, e.counters);
    j.end_object();
  }
  j.end_array();
}

bool is_described(const message_type* t) noexcept { return t && t->support->is_described(); }

json_text graph_of(const inspected& on) {
  const rota::graph g = on.bus.graph();
  json_text j;
  j.begin_object().key("topics").begin_array();
  for (const graph::topic& t : g.topics) {
    j.begin_object().field("name", t.name).field("type", t.type);
    j.key("described").boolean(is_described(t.messages));
    put_ends(j, "publishers", t.publishers, end_kind::publisher);
    put_ends(j, "subscribers", t.subscribers, end_kind::subscriber);
    j.end_object();
  }
  j.end_array().key("services").begin_array();
  for (const graph::service& s : g.services) {
    j.begin_object().field("name", s.name).field("request", s.request).field("reply", s.reply);
    j.key("described").boolean(is_described(s.requests) && is_described(s.replies));
    put_ends(j, "servers", s.servers, end_kind::server);
    put_ends(j, "clients", s.clients, end_kind::client);
    j.end_object();
  }
  j.end_array().end_object();
  return j;
}

json_text statistics_of(const inspected& on) {
  const bus_statistics b = on.bus.statistics();
  const stats p = on.bus.home().statistics();
  json_text j;
  j.begin_object();
  j.field("open_ns", nanoseconds(sync::now() - on.opened));
  j.key("bus").begin_object();
  j.field("handlers", b.handlers).field("queued", b.queued).field("runs", b.runs);
  j.field("steps", b.steps).field("max_passed", b.max_passed).field("bound", b.bound);
  j.end_object().key("pool").begin_object();
  j.field("workers", on.bus.home().workers()).field("points", p.points);
  j.field("spawned", p.spawned).field("finished", p.finished);
  j.field("steals", p.steals).field("stolen", p.stolen).field("forks_taken", p.forks_taken);
  j.field("parks", p.parks).field("wakes", p.wakes).field("rests", p.rests);
  j.field("max_ready_delay", p.max_ready_delay);
  j.field("median_ready_delay", p.ready_delay_quantile(0.5));
  j.field("p99_ready_delay", p.ready_delay_quantile(0.99));
  j.end_object().key("inspector").begin_object();
  j.field("clients", on.clients).field("requests", on.requests);
  j.end_object().end_object();
  return j;
}

json_text schema_of(const inspected& on, const request_words& words) {
  const rota::graph g = on.bus.graph();
  json_text j;
  j.begin_object();
  if (words[1] == "topic") {
    const auto& row = find_row(g.topics, words[2], "topic");
    const message_type& t = described_type(row.messages, row.type, row.name);
    j.field("topic", row.name).field("type", row.type).field("schema", t.support->schema());
  } else if (words[1] == "service") {
    const auto& row = find_row(g.services, words[2], "service");
    const message_type& request = described_type(row.requests, row.request, row.name);
    const message_type& reply = described_type(row.replies, row.reply, row.name);
    j.field("service", row.name).field("request", row.request).field("reply", row.reply);
    j.field("request_schema", request.support->schema());
    j.field("reply_schema", reply.support->schema());
  } else {
    throw bad_request("expected: schema topic NAME, or schema service NAME");
  }
  j.end_object();
  return j;
}

// --- echo ---------------------------------------------------------------------------------------

// A subscription of the inspector. The thread looks at it every so often rather than being woken:
// a publisher has its topic locked meanwhile, and a wake-up might cost it the processor.
class tapped_topic {
 public:
  tapped_topic(const inspected& on, const endpoint& e, std::size_t depth, bool keeps_messages)
      : tap_(new message_tap(std::string(inspector_node) + " of " + e.name, depth, keeps_messages)),
        end_(on.way.subscribe(e, *tap_)) {}

  bool take(message_tap::one& out, sync::time_point now) noexcept {
    if (!tap_->take(out)) return false;
    last_ = now;
    return true;
  }

  sync::time_point next(sync::time_point now) const noexcept {
    return now + (now - last_ < 100ms ? 1ms : 5ms);
  }

 private:
  counted_ptr<message_tap> tap_;
  std::unique_ptr<reader> end_;  // goes first
  sync::time_point last_{};      // when something came
};

class echo final : public errand {
 public:
  echo(const inspected& on, const endpoint& e, std::uint64_t count)
      : on_(on), messages_(on, e, on.options.depth, true), left_(count), endless_(count == 0) {}

  bool work(sync::time_point now, outbox& out) override {
    message_tap::one m;
    while ((stalled_ = !out.has_room()) == false && messages_.take(m, now)) {
      out.line(line_of(m));
      if (endless_ || --left_ > 0) continue;
      out.line(ended("count"));
      return false;
    }
    return true;
  }

  // While the client does not read, its queue drops what is too much.
  sync::time_point next(sync::time_point now) const override {
    return stalled_ ? sync::time_point::max() : messages_.next(now);
  }

 private:
  json_text line_of(const message_tap::one& m) const {
    const std::vector<std::byte> bytes = encode(*m.message);
    json_text j;
    j.begin_object().field("at_ns", nanoseconds(m.at - on_.opened));
    if (m.dropped > 0) j.field("dropped", m.dropped);
    if (bytes.size() > on_.options.max_message)
      j.field("too_large", bytes.size());
    else
      j.key("cdr").hex(bytes);
    j.end_object();
    return j;
  }

  const inspected& on_;
  tapped_topic messages_;
  std::uint64_t left_;
  const bool endless_;
  bool stalled_ = false;
};

std::unique_ptr<errand> begin_echo(const inspected& on, const request_words& words, outbox& out) {
  check_count(words, 2, 3, "echo TOPIC [COUNT]");
  const std::uint64_t count = number_at(words, 2, "COUNT", 0, 0, most_messages);
  const rota::graph g = on.bus.graph();
  const auto& row = find_row(g.topics, words[1], "topic");
  const message_type& t = described_type(row.messages, row.type, row.name);
  if (!t.is_copyable)  // to look at it would be to keep its reader from taking it
    throw bad_request(quoted(row.name) + ": messages that cannot be copied have one reader alone");
  auto e = std::make_unique<echo>(on, end_of_topic(on, row), count);
  json_text j;
  j.begin_object().field("topic", row.name).field("type", row.type);
  j.field("schema", t.support->schema()).end_object();
  out.line(std::move(j));
  return e;
}

// --- hz -----------------------------------------------------------------------------------------

// How often messages come, window by window. `missed` counts what would have fitted into gaps of
// more than one and a half times the usual distance, the median of the window.
class rate final : public errand {
 public:
  rate(const inspected& on, const endpoint& e, std::chrono::milliseconds window,
       std::uint64_t count)
      : messages_(on, e, times_kept, false), window_(window), left_(count), endless_(count == 0) {
    begin_ = sync::now();
  }

  bool work(sync::time_point now, outbox& out) override {
    message_tap::one m;
    while (messages_.take(m, now)) add(m);
    if (now < begin_ + window_) return true;
    // A line that nobody reads is left out, so that no more than some of them wait.
    if (out.has_room()) out.line(line_of(now - begin_));
    count_ = 0;
    apart_.clear();
    begin_ = now;
    if (endless_ || --left_ > 0) return true;
    out.line(ended("count"));
    return false;
  }

  sync::time_point next(sync::time_point now) const override {
    return std::min(begin_ + window_, messages_.next(now));
  }

 private:
  static constexpr std::size_t times_kept = 4096;
  static constexpr std::size_t most_apart = std::size_t{1} << 20;

  void add(const message_tap::one& m) {
    count_ += 1 + m.dropped;
    if (last_ && m.dropped == 0 && apart_.size() < most_apart)
      apart_.push_back(static_cast<double>(nanoseconds(m.at - *last_)));
    last_ = m.at;
  }

  json_text line_of(sync::time_point::duration window) {
    json_text j;
    j.begin_object().field("messages", count_).field("window_ns", nanoseconds(window));
    if (apart_.empty()) {
      j.key("rate").real(static_cast<double>(count_) * 1e9 /
                         static_cast<double>(nanoseconds(window)));
      j.end_object();
      return j;
    }
    double sum = 0;
    for (const double d : apart_) sum += d;
    const double mean = sum / static_cast<double>(apart_.size());
    double squares = 0;
    for (const double d : apart_) squares += (d - mean) * (d - mean);
    const auto [least, most] = std::minmax_element(apart_.begin(), apart_.end());
    const double smallest = *least;
    const double largest = *most;
    j.key("rate").real(mean > 0 ? 1e9 / mean : 0);
    j.key("mean_ns")
        .real(std::round(mean))
        .key("min_ns")
        .real(smallest)
        .key("max_ns")
        .real(largest);
    j.key("jitter_ns").real(std::round(std::sqrt(squares / static_cast<double>(apart_.size()))));
    j.field("missed", missed());
    j.end_object();
    return j;
  }

  std::uint64_t missed() {
    const auto middle = apart_.begin() + static_cast<std::ptrdiff_t>(apart_.size() / 2);
    std::nth_element(apart_.begin(), middle, apart_.end());
    const double usual = *middle;
    if (usual <= 0) return 0;
    double all = 0;
    for (const double d : apart_)
      if (d > 1.5 * usual) all += std::round(d / usual) - 1;
    return static_cast<std::uint64_t>(all);
  }

  tapped_topic messages_;
  const std::chrono::milliseconds window_;
  std::uint64_t left_;
  const bool endless_;
  sync::time_point begin_;
  std::uint64_t count_ = 0;  // in this window
  std::optional<sync::time_point> last_;
  std::vector<double> apart_;  // in this window, nanoseconds from one to the next
};

std::unique_ptr<errand> begin_rate(const inspected& on, const request_words& words, outbox& out) {
  check_count(words, 2, 4, "hz TOPIC [WINDOW_MS [COUNT]]");
  const std::chrono::milliseconds window{number_at(words, 2, "WINDOW_MS", 1000, 1, longest_ms)};
  const std::uint64_t count = number_at(words, 3, "COUNT", 0, 0, most_messages);
  const rota::graph g = on.bus.graph();
  const auto& row = find_row(g.topics, words[1], "topic");
  if (!row.messages) throw bad_request(quoted(row.name) + " has no end in this process");
  endpoint e = end_of_topic(on, row);
  e.qos.late_joiner = false;  // what was published before has no distance to what comes
  auto made = std::make_unique<rate>(on, e, window, count);
  json_text j;
  j.begin_object().field("topic", row.name).field("type", row.type).end_object();
  out.line(std::move(j));
  return made;
}

// --- pub ----------------------------------------------------------------------------------------

class publication final : public errand {
 public:
  publication(const inspected& on, const endpoint& e, std::vector<std::byte> bytes,
              std::uint64_t count, std::chrono::nanoseconds period)
      : expected_(on.bus.home()),
        type_(*e.type),
        bytes_(std::move(bytes)),
        to_(on.way.advertise(e)),
        left_(count),
        endless_(count == 0),
        period_(period),
        next_(sync::now()) {}

  bool work(sync::time_point now, outbox& out) override {
    constexpr int most_at_once = 64;  // then other clients have their turn
    if (now - next_ > 1s) next_ = now;
    for (int i = 0; i < most_at_once && next_ <= now; ++i) {
      publish();
      next_ += period_;
      if (endless_ || --left_ > 0) continue;
      json_text j;
      j.begin_object().field("published", published_).field("taken", taken_);
      j.field("refused", refused_).end_object();
      out.line(std::move(j));
      return false;
    }
    return true;
  }

  sync::time_point next(sync::time_point) const override { return next_; }

 private:
  // A message each time: who gets it may take it as his own. Who has no room does without.
  void publish() {
    written outcome;
    to_->write(decode_payload(type_, bytes_), outcome);
    ++published_;
    taken_ += outcome.taken;
    refused_ += outcome.refused + outcome.full.size();
  }

  const outside expected_;  // more is to come
  const message_type& type_;
  const std::vector<std::byte> bytes_;
  const std::unique_ptr<writer> to_;
  std::uint64_t left_;
  const bool endless_;
  const std::chrono::nanoseconds period_;
  sync::time_point next_;
  std::uint64_t published_ = 0;
  std::uint64_t taken_ = 0;
  std::uint64_t refused_ = 0;
};

std::unique_ptr<errand> begin_publication(const inspected& on, const request_words& words) {
  check_count(words, 3, 5, "pub TOPIC HEX [COUNT [RATE]]");
  const std::uint64_t count = number_at(words, 3, "COUNT", 1, 0, most_messages);
  const auto rate_given = words.size() > 4 ? parse_real(words[4]) : 1.0;
  if (!rate_given || !(*rate_given >= 0.001 && *rate_given <= highest_rate))
    throw bad_request("RATE " + quoted(words[4]) + " is no number from 0.001 to 100000");
  const rota::graph g = on.bus.graph();
  const auto& row = find_row(g.topics, words[1], "topic");
  const message_type& type = described_type(row.messages, row.type, row.name);
  std::vector<std::byte> bytes = payload_at(on, words, 2);
  (void)decode_payload(type, bytes);  // before anybody is told of a publisher
  endpoint e = end_of_topic(on, row);
  e.qos.late_joiner = false;  // what the program keeps for late joiners stays
  const std::chrono::nanoseconds period{static_cast<std::int64_t>(1e9 / *rate_given)};
  return std::make_unique<publication>(on, e, std::move(bytes), count, period);
}

// --- call ---------------------------------------------------------------------------------------

class service_call final : public errand {
 public:
  service_call(const inspected& on, endpoint e, message_ref request,
               std::chrono::milliseconds timeout)
      : on_(on),
        end_(std::move(e)),
        began_(sync::now()),
        client_(on.way.connect(end_)),
        call_(new tapped_call(std::move(request), began_ + timeout, on.waker)) {
    on.way.call(end_, call_);
  }
  service_call(const service_call&) = delete;
  service_call& operator=(const service_call&) = delete;
  ~service_call() override { give_up(call_state::status::cancelled, "the client has left"); }

  bool work(sync::time_point now, outbox& out) override {
    if (now >= call_->deadline())
      give_up(call_state::status::timeout, "no answer of " + quoted(end_.name) + " in time");
    if (call_->is_pending()) return true;
    out.line(answer(now));
    return false;
  }

  sync::time_point next(sync::time_point) const override { return call_->deadline(); }

 private:
  void give_up(call_state::status s, std::string why) {
    if (call_->complete(s, {}, std::move(why))) on_.way.cancel(end_, call_);
  }

  static call_status status_of(call_state::status s) noexcept {
    switch (s) {
      case call_state::status::ok:
        return call_status::ok;
      case call_state::status::timeout:
        return call_status::timeout;
      case call_state::status::no_responder:
        return call_status::no_responder;
      case call_state::status::cancelled:
        return call_status::cancelled;
      default:
        return call_status::lost;
    }
  }

  json_text answer(sync::time_point now) {
    const call_status status = status_of(call_->result());
    json_text j;
    j.begin_object().field("status", to_string(status));
    j.field("took_ns", nanoseconds(now - began_));
    if (status == call_status::ok) {
      const message_ref reply = call_->take_reply();
      const std::vector<std::byte> bytes = encode(*reply);
      if (bytes.size() > on_.options.max_message)
        j.field("too_large", bytes.size());
      else
        j.key("cdr").hex(bytes);
    } else {
      j.field("reason", call_->take_reason());
    }
    j.end_object();
    return j;
  }

  const inspected& on_;
  const endpoint end_;
  const sync::time_point began_;
  const std::unique_ptr<reader> client_;
  const call_ref call_;
};

std::unique_ptr<errand> begin_call(const inspected& on, const request_words& words) {
  check_count(words, 3, 4, "call SERVICE HEX [TIMEOUT_MS]");
  const std::chrono::milliseconds timeout{number_at(words, 3, "TIMEOUT_MS", 1000, 1, longest_ms)};
  const rota::graph g = on.bus.graph();
  const auto& row = find_row(g.services, words[1], "service");
  const message_type& request = described_type(row.requests, row.request, row.name);
  const message_type& reply = described_type(row.replies, row.reply, row.name);
  message_ref m = decode_payload(request, payload_at(on, words, 2));
  endpoint e;
  e.name = row.name;
  e.node = inspector_node;
  e.type = &request;
  e.reply = &reply;
  return std::make_unique<service_call>(on, std::move(e), std::move(m), timeout);
}

}  // namespace

std::unique_ptr<errand> begin_request(inspected& on, const request_words& words, outbox& out) {
  ++on.requests;
  const std::string_view what = words[0];
  if (what == "graph") {
    check_count(words, 1, 1, "graph");
    out.line(graph_of(on));
    return nullptr;
  }
  if (what == "statistics") {
    check_count(words, 1, 1, "statistics");
    out.line(statistics_of(on));
    return nullptr;
  }
  if (what == "schema") {
    check_count(words, 3, 3, "schema topic NAME, or schema service NAME");
    out.line(schema_of(on, words));
    return nullptr;
  }
  if (what == "echo") return begin_echo(on, words, out);
  if (what == "hz") return begin_rate(on, words, out);
  if (what == "pub") return begin_publication(on, words);
  if (what == "call") return begin_call(on, words);
  if (what == "watch") return begin_watch(on, words);
  if (what == "trace") return begin_trace(on, words);
  throw bad_request("there is no request " + quoted(what) +
                    "; there are graph, statistics, schema, echo, hz, pub, call, watch, trace");
}

}  // namespace rota::detail
