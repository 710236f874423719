#include "topic.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <stop_token>
#include <string>
#include <vector>

#include "door.h"
#include "interrupt.h"
#include "message_json.h"
#include "sink.h"
#include "table_text.h"

namespace rota::app {

namespace {

using nlohmann::ordered_json;

// What the command line asks for.
struct topic_request {
  door_options door;
  std::string name;
  std::string message;
  std::uint64_t count = 0;
  std::string timeout;
  std::string window = "1";
  std::string rate;
};

// The name is a word of the request, so it cannot have blanks.
const std::string& name_of(const topic_request& r) {
  const bool is_word = !r.name.empty() && std::all_of(r.name.begin(), r.name.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ';
  });
  if (!is_word) throw bad_input("'" + r.name + "' is no name; they look like /pose or robot/pose");
  return r.name;
}

// The message as it was given: `-` is standard input, since a command line has its limits.
std::string message_of(const topic_request& r) {
  if (r.message != "-") return r.message;
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

door::clock::time_point deadline_of(const topic_request& r) {
  if (r.timeout.empty()) return door::clock::time_point::max();
  const std::chrono::duration<double> d{seconds_of("--timeout", r.timeout)};
  return door::clock::now() + std::chrono::duration_cast<door::clock::duration>(d);
}

std::string counted(std::uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

// --- tables -------------------------------------------------------------------------------------

std::string type_of(const ordered_json& row, const char* field) {
  return row.at(field).get<std::string>();
}

std::string described(const ordered_json& row) {
  return row.at("described").get<bool>() ? "" : "  (not described)";
}

int list_topics(const topic_request& r) {
  door to{r.door};
  const ordered_json all = to.ask("graph").at("topics");
  if (r.door.json) {
    std::cout << all.dump(2) << '\n';
    return 0;
  }
  std::vector<std::vector<std::string>> rows{{"TOPIC", "PUBLISHERS", "SUBSCRIBERS", "TYPE"}};
  for (const auto& t : all)
    rows.push_back({t.at("name"), std::to_string(t.at("publishers").size()),
                    std::to_string(t.at("subscribers").size()), type_of(t, "type") + described(t)});
  std::cout << table_text(rows);
  return 0;
}

int list_services(const topic_request& r) {
  door to{r.door};
  const ordered_json all = to.ask("graph").at("services");
  if (r.door.json) {
    std::cout << all.dump(2) << '\n';
    return 0;
  }
  std::vector<std::vector<std::string>> rows{{"SERVICE", "SERVERS", "CLIENTS", "TYPES"}};
  for (const auto& s : all)
    rows.push_back({s.at("name"), std::to_string(s.at("servers").size()),
                    std::to_string(s.at("clients").size()),
                    type_of(s, "request") + " -> " + type_of(s, "reply") + described(s)});
  std::cout << table_text(rows);
  return 0;
}

// --- echo ---------------------------------------------------------------------------------------

// How a command that goes on until it is told otherwise has ended.
int status_of_stream(const char* name, door::outcome how, const topic_request& r, bool any) {
  switch (how) {
    case door::outcome::interrupted:
      return r.count == 0 ? 0 : interrupt::exit_status;
    case door::outcome::timed_out:
      if (r.count == 0 && any) return 0;
      std::cerr << "rota " << name << ": " << (any ? "not all came" : "nothing came") << " in "
                << r.timeout << " s\n";
      return 1;
    default:
      std::cerr << "rota " << name << ": the program has ended, or closed its door\n";
      return 1;
  }
}

int echo_topic(const topic_request& r) {
  const auto deadline = deadline_of(r);
  interrupt stop;
  door to{r.door, stop.token()};
  const schema s = schema_from(
      to.ask("echo " + name_of(r) + " " + std::to_string(r.count)).at("schema").get<std::string>());
  bool any = false;
  for (ordered_json line;;) {
    const door::outcome how = to.read(line, deadline);
    if (how != door::outcome::line) return status_of_stream("topic echo", how, r, any);
    if (line.contains("error")) throw std::runtime_error(line["error"].get<std::string>());
    if (line.contains("end")) {
      if (line["end"] == "count") return 0;
      return status_of_stream("topic echo", door::outcome::ended, r, any);
    }
    any = true;
    const bool too_large = line.contains("too_large");
    const ordered_json message =
        too_large ? ordered_json{} : to_json(s, line.at("cdr").get_ref<const std::string&>());
    if (r.door.json) {
      line.erase("cdr");
      if (!too_large) line["message"] = message;
      std::cout << line_of(line) << std::endl;
      continue;
    }
    if (line.contains("dropped"))
      std::cerr << "rota topic echo: "
                << counted(line["dropped"], "message was dropped here",
                           "messages were dropped here")
                << '\n';
    if (too_large)
      std::cerr << "rota topic echo: a message of " << line["too_large"]
                << " bytes is more than the door lets through\n";
    else
      std::cout << line_of(message) << std::endl;
  }
}

// --- hz -----------------------------------------------------------------------------------------

std::string milliseconds(const ordered_json& ns) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(3) << ns.get<double>() / 1e6;
  return out.str();
}

void print_rate(const ordered_json& w) {
  std::ostringstream out;
  const std::uint64_t messages = w.at("messages");
  if (messages == 0) {
    out << "no message in " << milliseconds(w.at("window_ns")) << " ms";
  } else {
    out << std::fixed << std::setprecision(2) << w.at("rate").get<double>() << " Hz";
    if (w.contains("mean_ns"))
      out << ", " << milliseconds(w["mean_ns"]) << " ms apart (" << milliseconds(w["min_ns"])
          << " to " << milliseconds(w["max_ns"]) << ", jitter " << milliseconds(w["jitter_ns"])
          << ")";
    out << ", " << counted(messages, "message", "messages");
    if (w.contains("missed")) out << ", " << w["missed"] << " missed";
  }
  std::cout << out.str() << std::endl;
}

int measure_topic(const topic_request& r) {
  const auto deadline = deadline_of(r);
  const auto window =
      static_cast<std::int64_t>(std::round(1000 * seconds_of("--window", r.window)));
  interrupt stop;
  door to{r.door, stop.token()};
  to.ask("hz " + name_of(r) + " " + std::to_string(window) + " " + std::to_string(r.count));
  bool any = false;
  for (ordered_json line;;) {
    const door::outcome how = to.read(line, deadline);
    if (how != door::outcome::line) return status_of_stream("topic hz", how, r, any);
    if (line.contains("end")) {
      if (line["end"] != "count") return status_of_stream("topic hz", door::outcome::ended, r, any);
      if (!any) std::cerr << "rota topic hz: nothing came\n";
      return any ? 0 : 1;
    }
    any = any || line.at("messages") > 0;
    if (r.door.json)
      std::cout << line_of(line) << std::endl;
    else
      print_rate(line);
  }
}

// --- pub ----------------------------------------------------------------------------------------

// Checked here, so that the words are those of the option.
std::string rate_of(const topic_request& r) {
  if (r.rate.empty()) return "1";
  double rate = 0;
  const char* end = r.rate.data() + r.rate.size();
  const auto [stopped, error] = std::from_chars(r.rate.data(), end, rate);
  if (error != std::errc{} || stopped != end || !(rate >= 0.001 && rate <= 100'000))
    throw bad_input("--rate: expected messages a second, from 0.001 to 100000, not " + r.rate);
  return r.rate;
}

int publish_to_topic(const topic_request& r) {
  const std::string rate = rate_of(r);
  const auto deadline = deadline_of(r);
  // With a rate and no count it goes on until Ctrl-C.
  const std::uint64_t count = r.count != 0 || !r.rate.empty() ? r.count : 1;
  std::optional<interrupt> stop;  // where Ctrl-C is the way to end it
  if (count == 0) stop.emplace();
  door to{r.door, stop ? stop->token() : std::stop_token{}};
  const ordered_json about = to.ask("schema topic " + name_of(r));
  const std::string hex = to_hex(schema_from(about.at("schema").get<std::string>()), message_of(r));
  to.send("pub " + r.name + " " + hex + " " + std::to_string(count) + " " + rate);
  ordered_json line;
  const door::outcome how = to.read(line, deadline);
  if (how != door::outcome::line) return status_of_stream("topic pub", how, r, count == 0);
  if (line.contains("error")) throw bad_input(line["error"].get<std::string>());
  if (line.contains("end")) return status_of_stream("topic pub", door::outcome::ended, r, false);
  if (r.door.json) {
    std::cout << line_of(line) << '\n';
    return 0;
  }
  std::cout << "published " << line.at("published") << ", taken " << line.at("taken");
  if (line.at("refused") > 0) std::cout << ", refused " << line.at("refused");
  if (line.at("taken") == 0) std::cout << ": nobody has subscribed";
  std::cout << '\n';
  return 0;
}

// --- call ---------------------------------------------------------------------------------------

int call_service(const topic_request& r) {
  const double timeout = seconds_of("--timeout", r.timeout);
  door to{r.door};
  const ordered_json about = to.ask("schema service " + name_of(r));
  const schema reply = schema_from(about.at("reply_schema").get<std::string>());
  const std::string hex =
      to_hex(schema_from(about.at("request_schema").get<std::string>()), message_of(r));
  to.send("call " + r.name + " " + hex + " " +
          std::to_string(static_cast<std::int64_t>(std::ceil(1000 * timeout))));
  ordered_json line;
  // The program keeps the time; if it does not, we do.
  const auto at_most = std::chrono::milliseconds{static_cast<std::int64_t>(1000 * timeout) + 5000};
  const door::outcome how = to.read(line, door::clock::now() + at_most);
  if (how != door::outcome::line || line.contains("end"))
    throw std::runtime_error("the program has ended, or does not answer");
  if (line.contains("error")) throw bad_input(line["error"].get<std::string>());
  const bool ok = line.at("status") == "ok";
  if (line.contains("too_large"))
    throw std::runtime_error("the answer is more than the door lets through: " +
                             counted(line["too_large"], "byte", "bytes"));
  if (ok) {
    line["reply"] = to_json(reply, line.at("cdr").get_ref<const std::string&>());
    line.erase("cdr");
  }
  if (r.door.json)
    std::cout << line_of(line) << '\n';
  else if (ok)
    std::cout << line_of(line["reply"]) << '\n';
  else
    std::cerr << "rota service call: " << line.at("status").get<std::string>() << ": "
              << line.at("reason").get<std::string>() << '\n';
  return ok ? 0 : 1;
}

// --- graph --------------------------------------------------------------------------------------

// "1200 handled, 2 dropped, 1 of 16 waiting"
std::string text_of_counters(const ordered_json& end) {
  std::string text = counted(end.at("events"), "handled", "handled");
  for (const char* what : {"dropped", "expired", "late", "failed"})
    if (end.at(what) > 0) text += ", " + end.at(what).dump() + " " + what;
  if (end.at("pending") > 0)
    text += ", " + end.at("pending").dump() +
            (end.contains("depth") ? " of " + end["depth"].dump() : "") + " waiting";
  return text;
}

void print_ends(const char* kind, const ordered_json& ends, std::size_t width) {
  for (const auto& e : ends) {
    const std::string node = e.at("node");
    std::string text;
    if (e.contains("published"))
      text = e["published"].dump() + " published";
    else if (e.contains("events"))
      text = text_of_counters(e);
    std::cout << "  " << std::left << std::setw(12) << kind;
    if (text.empty())
      std::cout << node << '\n';
    else
      std::cout << std::setw(static_cast<int>(width)) << node << "  " << text << '\n';
  }
}

std::size_t widest_node(const ordered_json& g) {
  std::size_t width = 0;
  for (const char* rows : {"topics", "services"})
    for (const auto& row : g.at(rows))
      for (const char* ends : {"publishers", "subscribers", "servers", "clients"})
        if (row.contains(ends))
          for (const auto& e : row[ends])
            width = std::max(width, e.at("node").get_ref<const std::string&>().size());
  return width;
}

void print_graph(const ordered_json& g) {
  const std::size_t width = widest_node(g);
  for (const auto& t : g.at("topics")) {
    std::cout << "topic " << t.at("name").get<std::string>() << ": " << type_of(t, "type")
              << described(t) << '\n';
    print_ends("publisher", t.at("publishers"), width);
    print_ends("subscriber", t.at("subscribers"), width);
  }
  for (const auto& s : g.at("services")) {
    std::cout << "service " << s.at("name").get<std::string>() << ": " << type_of(s, "request")
              << " -> " << type_of(s, "reply") << described(s) << '\n';
    print_ends("server", s.at("servers"), width);
    print_ends("client", s.at("clients"), width);
  }
}

// A text in quotes for Graphviz.
std::string dot_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

void write_graph(std::ostream& out, const ordered_json& g) {
  out << "digraph rota {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n";
  std::vector<std::string> nodes;
  std::ostringstream arrows;
  const auto draw = [&](const std::string& what, const ordered_json& ends, bool from_node) {
    for (const auto& e : ends) {
      const std::string node = dot_text("node " + e.at("node").get<std::string>());
      nodes.push_back("  " + node + " [shape=box, label=" + dot_text(e.at("node")) + "];\n");
      arrows << "  " << (from_node ? node : what) << " -> " << (from_node ? what : node) << ";\n";
    }
  };
  for (const auto& t : g.at("topics")) {
    const std::string what = dot_text("topic " + t.at("name").get<std::string>());
    out << "  " << what << " [shape=ellipse, label=" << dot_text(t.at("name")) << "];\n";
    draw(what, t.at("publishers"), true);
    draw(what, t.at("subscribers"), false);
  }
  for (const auto& s : g.at("services")) {
    const std::string what = dot_text("service " + s.at("name").get<std::string>());
    out << "  " << what << " [shape=diamond, label=" << dot_text(s.at("name")) << "];\n";
    draw(what, s.at("clients"), true);
    draw(what, s.at("servers"), false);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const std::string& n : nodes) out << n;
  out << arrows.str() << "}\n";
}

int show_graph(const door_options& o, const std::string& dot) {
  if (o.json && dot == "-")
    throw bad_input("only one of --dot - and --json can go to standard output");
  door to{o};
  const ordered_json g = to.ask("graph");
  if (!dot.empty()) {
    sink out{dot};
    write_graph(out.stream(), g);
    out.close();
  }
  if (o.json)
    std::cout << g.dump(2) << '\n';
  else if (dot != "-")
    print_graph(g);
  return 0;
}

// --- the commands -------------------------------------------------------------------------------

const char* const door_help =
    "The program has to open a door: rota::inspector door{bus, path}. Exit status: 0 fine, 1 if\n"
    "the answer is no (nothing came in time, the call was not answered, the program ended), 2 on\n"
    "wrong usage, names that are not there and messages that do not fit.";

// Adds a command with --socket and --json, whose options `more` adds.
template <class More>
void add_at_door(command& above, const std::string& name, const std::string& help,
                 const std::string& footer, int (*run)(const topic_request&), More more) {
  auto r = std::make_shared<topic_request>();
  const std::string last = name.substr(name.find(' ') + 1);
  command& c = above.add(last, help);
  more(c, *r);
  add_door_options(c, r->door);
  c.footer([footer] { return (footer.empty() ? "" : footer + "\n\n") + door_help; });
  c.run([r, run] { return run(*r); });
}

void add_name(command& c, topic_request& r, const char* what) {
  c.option({.name = "name",
            .type = "NAME",
            .help = std::string("of the ") + what,
            .value = &r.name,
            .required = true});
}

void add_message(command& c, topic_request& r) {
  c.option({.name = "message",
            .type = "JSON",
            .help = "the message; - reads it from standard input",
            .value = &r.message,
            .required = true});
}

void add_timeout(command& c, topic_request& r, const char* help) {
  c.option({.name = "--timeout", .type = "SECONDS", .help = help, .value = &r.timeout});
}

void add_count(command& c, topic_request& r, const char* help) {
  c.option({.name = "--count",
            .type = "N",
            .help = help,
            .value = &r.count,
            .least = 1,
            .most = 1'000'000'000'000});
}

}  // namespace

void add_topic(command& program) {
  command& topic = program.add("topic", "topics of a running program: list, echo, hz, pub");
  add_at_door(topic, "topic list", "the topics, a line each", "", list_topics,
              [](command&, topic_request&) {});
  add_at_door(
      topic, "topic echo", "prints the messages of a topic as they come, a line of JSON each",
      "With --json a line has also when the message came, in nanoseconds since the door was\n"
      "opened, and how many were dropped before it since we read too slowly.",
      echo_topic, [](command& c, topic_request& r) {
        add_name(c, r, "topic");
        add_count(c, r, "end after so many; by default Ctrl-C ends it");
        add_timeout(c, r, "end after so long; with 1 if not all came, or none");
      });
  add_at_door(
      topic, "topic hz", "how often messages come: rate, jitter and gaps, a line a window",
      "Jitter is the standard deviation of the time from one message to the next. Missed are\n"
      "those that would have fitted into gaps of more than one and a half times the usual.",
      measure_topic, [](command& c, topic_request& r) {
        add_name(c, r, "topic");
        c.option({.name = "--window",
                  .type = "SECONDS",
                  .help = "how long to count for a line: 1",
                  .value = &r.window});
        add_count(c, r, "end after so many windows; by default Ctrl-C ends it");
        add_timeout(c, r, "end after so long");
      });
  add_at_door(topic, "topic pub",
              "publishes a message, as rota topic pub /goal '{\"x\": 1, \"y\": 2}'",
              message_json_help, publish_to_topic, [](command& c, topic_request& r) {
                add_name(c, r, "topic");
                add_message(c, r);
                c.option({.name = "--rate",
                          .type = "HZ",
                          .help = "so many a second; without --count until Ctrl-C",
                          .value = &r.rate});
                add_count(c, r, "publish it so many times: 1, or without end with --rate");
                add_timeout(c, r, "stop after so long");
              });
}

void add_service(command& program) {
  command& service = program.add("service", "services of a running program: list, call");
  add_at_door(service, "service list", "the services, a line each", "", list_services,
              [](command&, topic_request&) {});
  add_at_door(
      service, "service call",
      "calls a service and prints the answer, as rota service call /add '{\"a\": 1, \"b\": 2}'",
      message_json_help, call_service, [](command& c, topic_request& r) {
        r.timeout = "1";
        add_name(c, r, "service");
        add_message(c, r);
        add_timeout(c, r, "how long to wait for the answer: 1");
      });
}

void add_graph(command& program) {
  struct graph_request {
    door_options door;
    std::string dot;
  };
  auto r = std::make_shared<graph_request>();
  command& graph = program.add("graph", "who publishes, subscribes, serves and calls in a program");
  graph.option({.name = "--dot",
                .type = "FILE",
                .help = "write it as a drawing for Graphviz; - for standard output",
                .value = &r->dot});
  add_door_options(graph, r->door);
  graph.footer([] { return door_help; });
  graph.run([r] { return show_graph(r->door, r->dot); });
}

}  // namespace rota::app
