#include <rota/coop/local.h>

#include <array>
#include <limits>
#include <vector>

namespace rota::coop {

std::string_view name_of(run_time_error error) noexcept {
  switch (error) {
    case run_time_error::division_by_zero:
      return "division-by-zero";
    case run_time_error::overflow:
      return "overflow";
    case run_time_error::not_a_number:
      return "not-a-number";
    case run_time_error::not_a_task:
      break;
  }
  return "not-a-task";
}

std::string to_string(const value& v) {
  switch (v.kind) {
    case value_kind::integer:
      return std::to_string(v.number);
    case value_kind::boolean:
      return v.number ? "true" : "false";
    case value_kind::task:
      break;
  }
  return "task " + std::to_string(v.number);
}

std::string_view message_of(run_time_error error) noexcept {
  switch (error) {
    case run_time_error::division_by_zero:
      return "division by zero";
    case run_time_error::overflow:
      return "the result does not fit into 64 bits";
    case run_time_error::not_a_number:
      return "a task identifier is used as a number";
    case run_time_error::not_a_task:
      break;
  }
  return "await of something that is no task identifier";
}

namespace {

// Both are numbers already.
std::optional<run_time_error> calculate(operation what, std::int64_t a, std::int64_t b,
                                        std::int64_t& result) {
  bool overflows = false;
  switch (what) {
    case operation::add:
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case operation::subtract:
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case operation::multiply:
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    case operation::divide:
      if (b == 0) return run_time_error::division_by_zero;
      if (b == -1) return calculate(operation::subtract, 0, a, result);  // may overflow
      result = a / b;
      break;
    default:
      if (b == 0) return run_time_error::division_by_zero;
      result = b == -1 ? 0 : a % b;  // the machine cannot divide the least number by -1
      break;
  }
  if (overflows) return run_time_error::overflow;
  return std::nullopt;
}

bool compare(operation what, std::int64_t a, std::int64_t b) {
  switch (what) {
    case operation::less:
      return a < b;
    case operation::less_equal:
      return a <= b;
    case operation::greater:
      return a > b;
    default:
      return a >= b;
  }
}

// == of two values: by number, unless a task is among them.
bool same(const value& a, const value& b) {
  return a.number == b.number && a.is_task() == b.is_task();
}

// Applies an operator to values that were evaluated before, both of them.
std::optional<failure> apply(const machine_operation& o, value& a, const value& b) {
  switch (o.apply) {
    case operation::equal:
    case operation::unequal:
      a = value::boolean(same(a, b) == (o.apply == operation::equal));
      return std::nullopt;
    default:
      break;
  }
  if (a.is_task()) return failure{run_time_error::not_a_number, o.left_at};
  if (b.is_task()) return failure{run_time_error::not_a_number, o.right_at};
  switch (o.apply) {
    case operation::less:
    case operation::less_equal:
    case operation::greater:
    case operation::greater_equal:
      a = value::boolean(compare(o.apply, a.number, b.number));
      return std::nullopt;
    default:
      break;
  }
  std::int64_t result = 0;
  if (const auto error = calculate(o.apply, a.number, b.number, result))
    return failure{*error, o.at};
  a = value::integer(result);
  return std::nullopt;
}

evaluated failed(run_time_error error, position at) { return {{}, failure{error, at}}; }

// Runs the operations on a stack that is large enough.
evaluated execute(const program& p, expression_code e, environment state, value* stack) {
  using code = machine_operation::code;
  value* top = stack - 1;
  const machine_operation* const all = p.operations();
  const machine_operation* o = all + e.begin;
  const machine_operation* const end = all + e.end;
  while (o != end) {
    switch (o->what) {
      case code::constant:
        *++top = o->constant;
        break;
      case code::load:
        *++top = state[o->slot];
        break;
      case code::binary:
        --top;
        if (const auto error = apply(*o, top[0], top[1])) return {{}, error};
        break;
      case code::unary:
        if (top->is_task()) return failed(run_time_error::not_a_number, o->left_at);
        if (o->apply == operation::not_) {
          *top = value::boolean(top->number == 0);
        } else {
          if (top->number == std::numeric_limits<std::int64_t>::min())
            return failed(run_time_error::overflow, o->at);
          *top = value::integer(-top->number);
        }
        break;
      case code::to_boolean:
      case code::or_else:
      case code::and_then:
        if (top->is_task()) return failed(run_time_error::not_a_number, o->left_at);
        *top = value::boolean(top->number != 0);
        if (o->what == code::to_boolean) break;
        if ((top->number != 0) == (o->what == code::or_else)) {
          o = all + o->jump;
          continue;
        }
        --top;
        break;
    }
    ++o;
  }
  return {*top, std::nullopt};
}

// Of a condition. A task identifier can only come straight from a variable, which is then the last
// operation.
evaluated truth(const program& p, expression_code e, environment state) {
  evaluated v = evaluate(p, e, state);
  if (v.error) return v;
  if (v.result.is_task()) return failed(run_time_error::not_a_number, p.operations()[e.end - 1].at);
  v.result = value::boolean(v.result.number != 0);
  return v;
}

}  // namespace

evaluated evaluate(const program& p, expression_code e, environment state) {
  constexpr std::size_t usual_depth = 16;
  if (e.depth <= usual_depth) {
    std::array<value, usual_depth> stack;
    return execute(p, e, state, stack.data());
  }
  std::vector<value> stack(e.depth);
  return execute(p, e, state, stack.data());
}

local_step evaluate_statement(const program& p, continuation k, environment state) {
  const instruction& i = p.at(k);
  local_step step;
  step.rest = i.next;
  const auto fail = [&](const failure& f) {
    step.outcome = local_outcome::failed;
    step.error = f;
    return step;
  };
  switch (i.head) {
    case statement_kind::skip:
    case statement_kind::suspend:
      break;
    case statement_kind::assign:
    case statement_kind::spawn: {
      const evaluated v = evaluate(p, i.expression, state);
      if (v.error) return fail(*v.error);
      step.effect = i.head == statement_kind::assign ? local_effect::update : local_effect::call;
      step.target = i.target;
      step.procedure = i.procedure;
      step.result = v.result;
      break;
    }
    case statement_kind::if_:
    case statement_kind::while_:
    case statement_kind::guard: {
      const evaluated v = truth(p, i.expression, state);
      if (v.error) return fail(*v.error);
      const bool holds = v.result.number != 0;
      if (i.head == statement_kind::guard) {
        if (!holds) step.outcome = local_outcome::blocked;
      } else if (holds) {
        step.rest = i.body;
      }
      break;
    }
    case statement_kind::await:
      step.result = state[i.target];
      if (!step.result.is_task()) return fail({run_time_error::not_a_task, i.target_at});
      step.effect = local_effect::reaction;
      break;
    case statement_kind::return_:
      step.effect = local_effect::completion;
      break;
    case statement_kind::end:
      step.outcome = local_outcome::blocked;
      break;
  }
  return step;
}

}  // namespace rota::coop
