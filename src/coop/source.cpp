#include <rota/coop/source.h>

#include <rota/coop/syntax.h>

namespace rota::coop {

std::string to_string(position at) {
  return std::to_string(at.line) + ':' + std::to_string(at.column);
}

std::string_view name_of(static_error_kind kind) noexcept {
  switch (kind) {
    case static_error_kind::lexical:
      return "lexical";
    case static_error_kind::syntax:
      return "syntax";
    case static_error_kind::nesting:
      return "nesting";
    case static_error_kind::duplicate_procedure:
      return "duplicate-procedure";
    case static_error_kind::unknown_procedure:
      return "unknown-procedure";
    case static_error_kind::unbound_variable:
      return "unbound-variable";
    case static_error_kind::language:
      break;
  }
  return "language";
}

std::string to_string(const static_error& error, std::string_view file) {
  return std::string(file) + ':' + to_string(error.at) + ": error: " + error.message + " [" +
         std::string(name_of(error.kind)) + ']';
}

std::string_view name_of(language l) noexcept {
  switch (l) {
    case language::while_:
      return "while";
    case language::spawn:
      return "spawn";
    case language::guard:
      return "guard";
    case language::coopwhile:
      break;
  }
  return "coopwhile";
}

std::string_view name_of(statement_kind kind) noexcept {
  switch (kind) {
    case statement_kind::skip:
      return "skip";
    case statement_kind::assign:
      return "assign";
    case statement_kind::if_:
      return "if";
    case statement_kind::while_:
      return "while";
    case statement_kind::spawn:
      return "spawn";
    case statement_kind::suspend:
      return "suspend";
    case statement_kind::await:
      return "await";
    case statement_kind::guard:
      return "guard";
    case statement_kind::return_:
      return "return";
    case statement_kind::end:
      break;
  }
  return "end";
}

}  // namespace rota::coop
