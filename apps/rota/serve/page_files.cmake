# Writes page_files.cpp, which has the files of the page as bytes.
#
#   cmake -D from=DIR -D to=FILE -P page_files.cmake
#
# Text would need marks that no file may contain; numbers need none.
file(GLOB_RECURSE files RELATIVE ${from} ${from}/*.html ${from}/*.js ${from}/*.css ${from}/*.svg ${from}/*.png)
list(FILTER files EXCLUDE REGEX "(^|/)(node_modules|tests?)/|_test\\.|\\.test\\.")
list(SORT files)
set(arrays)
set(entries)
set(number 0)
foreach(file IN LISTS files)
  file(READ ${from}/${file} bytes HEX)
  string(LENGTH "${bytes}" length)
  math(EXPR length "${length} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  if(length GREATER 0)
    string(APPEND arrays "constexpr char file_${number}[] = {${bytes}};\n")
    string(APPEND entries "    {\"${file}\", {file_${number}, ${length}}},\n")
  endif()
  math(EXPR number "${number} + 1")
endforeach()
file(CONFIGURE OUTPUT ${to} @ONLY CONTENT "#include \"page.h\"

namespace rota::app {

namespace {

@arrays@
constexpr page_file files[] = {
@entries@    {\"about\", \"rota\"},
};

}  // namespace

std::span<const page_file> page_files() { return files; }

}  // namespace rota::app
")
