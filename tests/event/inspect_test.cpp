// The door into a program, from the side of a client that knows no more than the protocol. A client
// that could hold the program up shows as a hang; the time limit turns it into a failure.

#include <rota/rota.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "event/inspector_text.h"
#include "support/scratch_folder.h"

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

struct spot {
  double x = 0;
  std::int32_t number = 0;
};
template <class V>
void describe(V& v, spot& s) {
  v.type("test/spot");
  v.field("x", s.x);
  v.field("number", s.number);
}

struct secret {  // not described
  int value = 0;
};

std::string hex_of(const std::vector<std::byte>& bytes) {
  std::string text = std::move(rota::detail::json_text{}.hex(bytes)).take();
  return text.substr(1, text.size() - 2);
}
template <class T>
std::string hex_of(const T& value) {
  return hex_of(rota::codec<T>::encode(value));
}

class line_client {
 public:
  explicit line_client(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    path.copy(a.sun_path, sizeof a.sun_path - 1);
    is_in_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0;
  }
  ~line_client() { ::close(socket_); }
  line_client(const line_client&) = delete;

  bool is_in() const { return is_in_; }
  int get() const { return socket_; }

  void send(std::string_view text) const {
    while (!text.empty()) {
      const auto n = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }

  // The next line; empty at the end.
  std::string line() {
    for (;;) {
      if (const auto end = read_.find('\n'); end != std::string::npos) {
        std::string l = read_.substr(0, end);
        read_.erase(0, end + 1);
        return l;
      }
      pollfd p{socket_, POLLIN, 0};
      if (::poll(&p, 1, 10'000) <= 0) return "no answer in 10 s";
      char some[65536];
      const auto n = ::recv(socket_, some, sizeof some, 0);
      if (n <= 0) return "";
      read_.append(some, static_cast<std::size_t>(n));
    }
  }
  std::string ask(const std::string& request) {
    send(request + '\n');
    return line();
  }

 private:
  int socket_;
  bool is_in_ = false;
  std::string read_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// A program with a topic and services, and a door.
struct inspected_program {
  rota::test::scratch_folder home;
  rota::runtime rt{rota::options{}.with_workers(2)};
  rota::bus bus{rt};
  rota::node robot{bus, "robot"};
  std::atomic<int> got{0};
  std::atomic<int> last{0};
  rota::publisher<spot> spots = robot.advertise<spot>("/spot");
  rota::publisher<secret> secrets = robot.advertise<secret>("/secret");
  std::string path = home / "door";
  rota::inspector door{bus, path,
                       rota::inspector_options{}.with_max_clients(3).with_max_message(1 << 20)};

  inspected_program() {
    robot.subscribe<spot>("/spot", rota::qos{}.with_depth(1000), [this](const spot& s) {
      last = s.number;
      ++got;
    });
    robot.serve<spot, std::int32_t>("/next", [](const spot& s) { return s.number + 1; });
    robot.serve<spot, std::int32_t>("/never",
                                    rota::handler_options{}.with_group(rota::group::reentrant()),
                                    [](spot) -> rota::task<std::int32_t> {
                                      co_await rota::sleep_for(1h);
                                      co_return 0;
                                    });
    robot.serve<spot, std::int32_t>(
        "/throws", [](const spot&) -> std::int32_t { throw std::runtime_error("out of order"); });
  }

  static bool wait_for(const std::function<bool()>& holds) {
    for (int i = 0; i < 5000 && !holds(); ++i) std::this_thread::sleep_for(1ms);
    return holds();
  }
};

rota::options quiet() { return rota::options{}.with_workers(2); }

TEST(Inspect, TellsWhoIsThere) {
  inspected_program p;
  line_client c{p.path};
  const std::string graph = c.ask("graph");
  EXPECT_TRUE(has(graph, R"({"name":"/spot","type":"test/spot","described":true)")) << graph;
  EXPECT_TRUE(has(graph, R"("publishers":[{"node":"robot","published":0}])")) << graph;
  EXPECT_TRUE(has(graph, R"("described":false)")) << graph;
  EXPECT_TRUE(has(graph, R"({"name":"/next","request":"test/spot","reply":"int32")")) << graph;
  EXPECT_TRUE(has(c.ask("statistics"), R"("workers":2)"));
  EXPECT_EQ(c.ask("schema topic /spot"), R"({"topic":"/spot","type":"test/spot","schema":)"
                                         R"("test/spot\n  float64 x\n  int32 number\n"})");
  EXPECT_TRUE(has(c.ask("schema service /next"), R"("reply_schema":"int32\n"})"));
}

TEST(Inspect, AnEchoIsASubscriberThatGetsEveryMessage) {
  inspected_program p;
  line_client c{p.path};
  EXPECT_TRUE(has(c.ask("echo /spot 3"), R"("schema":"test/spot)"));
  line_client other{p.path};
  EXPECT_TRUE(has(other.ask("graph"), R"({"node":"rota-inspect","depth":64)"));
  for (int i = 1; i <= 3; ++i) {
    p.spots.publish(spot{0.5, i});
    EXPECT_TRUE(has(c.line(), R"("cdr":")" + hex_of(spot{0.5, i}) + '"'));
  }
  EXPECT_EQ(c.line(), R"({"end":"count"})");
  EXPECT_FALSE(has(c.ask("graph"), "rota-inspect"));
}

TEST(Inspect, PublishesAndCalls) {
  inspected_program p;
  line_client c{p.path};
  EXPECT_EQ(c.ask("pub /spot " + hex_of(spot{1, 7}) + " 3 1000"),
            R"({"published":3,"taken":3,"refused":0})");
  EXPECT_TRUE(p.wait_for([&] { return p.got == 3; }));
  EXPECT_EQ(p.last, 7);
  const std::string answer = c.ask("call /next " + hex_of(spot{1, 41}));
  EXPECT_TRUE(has(answer, R"({"status":"ok")")) << answer;
  EXPECT_TRUE(has(answer, hex_of(std::int32_t{42}))) << answer;
  EXPECT_TRUE(has(c.ask("call /never " + hex_of(spot{}) + " 20"), R"("status":"timeout")"));
  EXPECT_TRUE(has(c.ask("call /throws " + hex_of(spot{})), "out of order"));
  EXPECT_FALSE(has(c.ask("graph"), "rota-inspect"));
}

TEST(Inspect, CountsHowOftenMessagesCome) {
  inspected_program p;
  const auto every = p.robot.every(2ms, [&] { p.spots.publish(spot{}); });
  line_client c{p.path};
  EXPECT_EQ(c.ask("hz /spot 100 2"), R"({"topic":"/spot","type":"test/spot"})");
  EXPECT_TRUE(has(c.line(), R"("messages":)"));
  const std::string second = c.line();
  EXPECT_TRUE(has(second, R"("jitter_ns":)")) << second;
  EXPECT_TRUE(has(second, R"("missed":)")) << second;
  EXPECT_EQ(c.line(), R"({"end":"count"})");
}

TEST(Inspect, SaysWhatIsWrongWithARequest) {
  inspected_program p;
  line_client c{p.path};
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"dance", "there is no request 'dance'; there are graph"},
      {"graph now", "expected: graph"},
      {"echo", "expected: echo TOPIC"},
      {"echo /spo", "there is no topic '/spo'; there are /secret, /spot"},
      {"echo /secret", "not described"},
      {"echo /spot -1", "COUNT '-1' is no number from 0"},
      {"echo /spot 99999999999999999999", "is no number"},
      {"hz /spot 0", "WINDOW_MS '0'"},
      {"pub /spot 0", "not in hex"},
      {"pub /spot zz", "not in hex"},
      {"pub /spot 00010000", "no test/spot: cdr: byte 4, in x"},
      {"pub /spot " + hex_of(spot{}) + " 1 nan", "RATE 'nan'"},
      {"pub /secret 00", "not described"},
      {"call /next", "expected: call"},
      {"call /nexd " + hex_of(spot{}), "there is no service '/nexd'; there are /never, /next"},
      {"call /next 0001", "no test/spot"},
      {"schema node x", "expected: schema topic NAME"},
  };
  for (const auto& [request, why] : wrong) {
    const std::string answer = c.ask(request);
    EXPECT_TRUE(has(answer, R"({"error":")")) << request << ": " << answer;
    EXPECT_TRUE(has(answer, why)) << request << ": " << answer;
  }
  EXPECT_TRUE(has(c.ask("graph"), "topics"));
}

TEST(Inspect, ARequestThatIsTooLongIsSkipped) {
  inspected_program p;
  line_client c{p.path};
  c.send(std::string(std::size_t{5} << 20, 'a'));
  EXPECT_TRUE(has(c.ask(" and more"), "a request of more than"));
  EXPECT_TRUE(has(c.ask("graph"), "topics"));
}

TEST(Inspect, AClientThatDoesNotReadLosesMessagesAndHoldsNobodyUp) {
  inspected_program p;
  auto blobs = p.robot.advertise<std::vector<std::uint8_t>>("/blob");
  line_client slow{p.path};
  EXPECT_TRUE(has(slow.ask("echo /blob"), "uint8[]"));
  const std::vector<std::uint8_t> blob(std::size_t{100} << 10, 1);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(blobs.publish(blob).refused(), 0);
    if (i % 50 == 0) std::this_thread::sleep_for(2ms);
  }
  line_client other{p.path};
  EXPECT_TRUE(has(other.ask("graph"), "topics"));
  // What it reads now tells of what was lost.
  bool told = false;
  for (int i = 0; i < 100 && !told; ++i) {
    blobs.publish(std::vector<std::uint8_t>(1));
    told = has(slow.line(), R"("dropped":)");
  }
  EXPECT_TRUE(told);
}

TEST(Inspect, ThereIsAMostOfClients) {
  inspected_program p;
  line_client a{p.path};
  line_client b{p.path};
  line_client c{p.path};
  for (auto* one : {&a, &b, &c}) EXPECT_TRUE(has(one->ask("graph"), "topics"));
  line_client d{p.path};
  EXPECT_TRUE(has(d.line(), "3 clients already"));
  EXPECT_EQ(d.line(), "");
}

TEST(Inspect, WhoHasLeftTakesNoPlace) {
  inspected_program p;
  for (int i = 0; i < 300; ++i) line_client{p.path}.send("graph");
  line_client c{p.path};
  EXPECT_TRUE(has(c.ask("graph"), "topics"));
}

TEST(Inspect, WhoLeavesIsForgotten) {
  inspected_program p;
  for (int i = 0; i < 10; ++i) {
    line_client c{p.path};
    EXPECT_TRUE(c.is_in());
    c.ask(i % 2 ? "echo /spot" : "hz /spot");
    line_client d{p.path};
    d.send("call /never " + hex_of(spot{}) + " 60000\n");
    line_client e{p.path};
    e.send("pub /spot " + hex_of(spot{}) + " 0 10\n");
  }
  line_client c{p.path};
  EXPECT_TRUE(p.wait_for([&] {
    line_client again{p.path};
    return has(again.ask("graph"), "topics") && !has(again.ask("graph"), "rota-inspect");
  }));
}

TEST(Inspect, AnswersWhileAllWorkersAreStuck) {
  inspected_program p;
  std::atomic<bool> goes_on{false};
  std::atomic<int> stuck{0};
  std::vector<rota::join_handle<void>> all;
  for (int i = 0; i < 2; ++i)
    all.push_back(p.rt.spawn([](std::atomic<bool>& g, std::atomic<int>& s) -> rota::task<void> {
      ++s;
      while (!g) std::this_thread::sleep_for(1ms);
      co_return;
    }(goes_on, stuck)));
  EXPECT_TRUE(p.wait_for([&] { return stuck == 2; }));
  line_client c{p.path};
  EXPECT_TRUE(has(c.ask("graph"), "topics"));
  EXPECT_TRUE(has(c.ask("echo /spot 1"), "schema"));
  p.spots.publish(spot{});
  EXPECT_TRUE(has(c.line(), "cdr"));
  EXPECT_EQ(c.line(), R"({"end":"count"})");
  EXPECT_TRUE(has(c.ask("call /next " + hex_of(spot{}) + " 20"), "timeout"));
  goes_on = true;
  for (auto& h : all)
    p.rt.run(
        [](rota::join_handle<void> j) -> rota::task<void> { co_await std::move(j); }(std::move(h)));
}

TEST(Inspect, TheEndIsToldAndTheSocketGoes) {
  rota::test::scratch_folder home;
  const std::string path = home / "door";
  rota::runtime rt{quiet()};
  rota::bus bus{rt};
  rota::node n{bus, "n"};
  n.subscribe<spot>("/spot", {}, [](const spot&) {});
  auto door = std::make_unique<rota::inspector>(bus, path);
  line_client c{path};
  EXPECT_TRUE(has(c.ask("echo /spot"), "schema"));
  EXPECT_TRUE(fs::exists(path));
  door.reset();
  EXPECT_TRUE(has(c.line(), R"({"end":"the program)"));
  EXPECT_EQ(c.line(), "");
  EXPECT_FALSE(fs::exists(path));
}

TEST(Inspect, ADoorDoesNotHideADeadlock) {
  inspected_program p;
  line_client c{p.path};
  EXPECT_TRUE(has(c.ask("echo /spot"), "schema"));
  rota::async_event never;
  EXPECT_THROW(p.rt.run([](rota::async_event& e) -> rota::task<void> { co_await e.wait(); }(never)),
               rota::deadlock);
}

TEST(Inspect, WhileItPublishesAProgramMayWaitForThat) {
  inspected_program p;
  line_client c{p.path};
  rota::async_event come;
  p.robot.subscribe<spot>("/spot", {}, [&, seen = 0](const spot&) mutable {
    if (++seen == 5) come.set();
  });
  c.send("pub /spot " + hex_of(spot{}) + " 10 100\n");
  EXPECT_TRUE(p.wait_for([&] { return p.got > 0; }));
  p.rt.run([](rota::async_event& e) -> rota::task<void> { co_await e.wait(); }(come));
  EXPECT_TRUE(has(c.line(), R"("published":10)"));
}

// --- the socket ---

class InspectSocket : public testing::Test {
 protected:
  rota::test::scratch_folder home;
  rota::runtime rt{quiet()};
  rota::bus bus{rt};

  std::string refusal(const std::string& path) {
    try {
      const rota::inspector door{bus, path};
      return "";
    } catch (const std::runtime_error& e) {
      return e.what();
    }
  }
  // A socket at the path, on which nobody answers.
  static void leave_dead(const std::string& path) {
    const int s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    path.copy(a.sun_path, sizeof a.sun_path - 1);
    EXPECT_EQ(::bind(s, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
    ::close(s);
  }
};

TEST_F(InspectSocket, IsForItsOwnerAlone) {
  const rota::inspector door{bus, home / "door"};
  struct stat s{};
  EXPECT_EQ(::lstat(door.path().c_str(), &s), 0);
  EXPECT_TRUE(S_ISSOCK(s.st_mode));
  EXPECT_EQ(s.st_mode & 0777, 0600U);
}

TEST_F(InspectSocket, ReplacesADeadOneAndNoOther) {
  leave_dead(home / "dead");
  EXPECT_EQ(refusal(home / "dead"), "");
  EXPECT_FALSE(fs::exists(home / "dead"));

  const rota::inspector door{bus, home / "alive"};
  EXPECT_TRUE(has(refusal(home / "alive"), "answers there already"));
  EXPECT_TRUE(line_client{home / "alive"}.is_in());
}

TEST_F(InspectSocket, LeavesAloneWhatIsNoSocket) {
  std::ofstream{home / "file"} << "precious";
  fs::create_directory(home / "directory");
  leave_dead(home / "dead");
  fs::create_symlink(home / "file", home / "link");
  fs::create_symlink(home / "dead", home / "link_to_dead");
  fs::create_symlink(home / "nowhere", home / "link_to_nothing");
  ::mkfifo((home / "pipe").c_str(), 0600);
  for (const char* name :
       {"file", "directory", "link", "link_to_dead", "link_to_nothing", "pipe"}) {
    EXPECT_TRUE(has(refusal(home / name), "no socket")) << name << refusal(home / name);
    EXPECT_NE(fs::symlink_status(home / name).type(), fs::file_type::not_found) << name;
  }
  EXPECT_TRUE(fs::exists(home / "dead"));
  EXPECT_FALSE(fs::exists(home / "nowhere"));
  std::string text;
  std::ifstream{home / "file"} >> text;
  EXPECT_EQ(text, "precious");
}

TEST_F(InspectSocket, WantsADirectoryThatOthersCannotChange) {
  fs::create_directory(home / "open");
  fs::permissions(home / "open", fs::perms::all);
  EXPECT_TRUE(has(refusal(home / "open/door"), "others may write"));
  fs::permissions(home / "open", fs::perms::all | fs::perms::sticky_bit);
  EXPECT_EQ(refusal(home / "open/door"), "");
  fs::permissions(home / "open", fs::perms::owner_all);
  EXPECT_EQ(refusal(home / "open//door"), "");
  fs::create_directory_symlink(home / "open", home / "link");
  EXPECT_TRUE(has(refusal(home / "link/door"), "is a link"));
  EXPECT_TRUE(has(refusal(home / "link//door"), "is a link"));
  EXPECT_TRUE(has(refusal(home / "none/door"), "No such file"));
  for (const char* name : {"", ".", "..", "/", "a/", "a/.."})
    EXPECT_TRUE(has(refusal(name), "no name for a socket")) << name;
  EXPECT_TRUE(has(refusal(home / std::string(100, 'a')), "too long"));
}

TEST_F(InspectSocket, ADirectoryMayHaveALongName) {
  const std::string deep = home / std::string(200, 'a');
  fs::create_directory(deep);
  EXPECT_EQ(refusal(deep + "/door"), "");
}

TEST_F(InspectSocket, RemovesOnlyTheOneItMade) {
  {
    const rota::inspector door{bus, home / "door"};
    fs::remove(home / "door");
    std::ofstream{home / "door"} << "mine";
  }
  EXPECT_TRUE(fs::exists(home / "door"));
}

TEST_F(InspectSocket, OfManyThatWantADeadOneOneGetsIt) {
  for (int round = 0; round < 20; ++round) {
    leave_dead(home / "door");
    std::vector<std::thread> all;
    std::vector<std::unique_ptr<rota::inspector>> made(4);
    for (auto& m : made)
      all.emplace_back([&] {
        try {
          m = std::make_unique<rota::inspector>(bus, home / "door");
        } catch (const std::runtime_error&) {
        }
      });
    for (auto& t : all) t.join();
    EXPECT_EQ(std::count_if(made.begin(), made.end(), [](auto& m) { return m != nullptr; }), 1);
    EXPECT_TRUE(line_client{home / "door"}.is_in());
  }
}

// --- words ---

TEST(InspectText, JsonIsValidWhateverTheText) {
  const auto quoted = [](std::string_view s) {
    return std::move(rota::detail::json_text{}.text(s)).take();
  };
  EXPECT_EQ(quoted("a\"\\\n\x01\x7f"), R"("a\"\\\n\u0001\u007f")");
  EXPECT_EQ(quoted("gr\xc3\xb6\xc3\x9f"
                   "e \xf0\x9f\x98\x80"),
            "\"gr\xc3\xb6\xc3\x9f"
            "e \xf0\x9f\x98\x80\"");
  EXPECT_EQ(quoted("\xff\xc3\xc0\xaf\xed\xa0\x80"),
            R"("\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd")");
  EXPECT_EQ(quoted("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
  EXPECT_EQ(quoted(std::string_view("\0", 1)), R"("\u0000")");
}

}  // namespace
