// Loading libtritonserver: once, and with all that it needs.
#include "runtime/runtime.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/elf.h"
#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

namespace fs = std::filesystem;

class Folder {
  public:
    Folder() : path_(fs::temp_directory_path() / ("triton_inprocess_test." + std::to_string(getpid()))) {
        fs::create_directories(path_);
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string file(const std::string& name, const std::string& content = "") const {
        std::ofstream(path_ / name, std::ios::binary) << content;
        return path_ / name;
    }

  private:
    fs::path path_;
};

std::string content_of_library() {
    std::ifstream stream(TRITON_INPROCESS_TEST_LIBRARY, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(RuntimeTest, LoadsTheWholeLibraryOnce) {
    const Folder folder;
    // Before: a failed attempt leaves nothing.
    EXPECT_EQ(error_of([] { Runtime::load("/nowhere/libtritonserver.so"); }).code(), TRITONSERVER_ERROR_NOT_FOUND);
    EXPECT_EQ(error_of([&] { Runtime::load(folder.file("text", "no library")); }).code(),
              TRITONSERVER_ERROR_INVALID_ARG);

    const Runtime& runtime = Runtime::load(TRITON_INPROCESS_TEST_LIBRARY);
    EXPECT_EQ(runtime.major(), 1U);
    EXPECT_EQ(runtime.minor(), 34U);
    EXPECT_TRUE(runtime.missing_functions().empty());
    EXPECT_EQ(&Runtime::load(TRITON_INPROCESS_TEST_LIBRARY), &runtime);
    EXPECT_EQ(&Runtime::current(), &runtime);

    const std::string other = folder.file("libother.so", content_of_library());
    const Error error = error_of([&] { Runtime::load(other); });
    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_ALREADY_EXISTS);
    EXPECT_NE(error.message().find(other), std::string::npos);
}

TEST(RuntimeTest, RefusesATruncatedFile) {
    const Folder folder;
    const std::string content = content_of_library();
    for (const std::size_t part : {std::size_t{20}, std::size_t{63}, content.size() / 50, content.size() / 2}) {
        const std::string path = folder.file("libcut.so", content.substr(0, part));
        EXPECT_EQ(error_of([&] { needed_libraries(path); }).code(), TRITONSERVER_ERROR_INVALID_ARG) << part;
    }
}

TEST(RuntimeTest, SurvivesDamagedHeaders) {
    const Folder folder;
    const std::string content = content_of_library();
    // Each byte of the file header and of the first program headers: an error or a result, but no crash.
    for (std::size_t at = 0; at < 512; ++at) {
        for (const char value : {'\x00', '\x7f', '\xff'}) {
            std::string damaged = content.substr(0, 4096);
            damaged[at] = value;
            try {
                needed_libraries(folder.file("libdamaged.so", damaged));
            } catch (const Error&) {
            }
        }
    }
}

TEST(RuntimeTest, ErrorsGoToTheCApiAndBack) {
    load_runtime();
    const Error error(TRITONSERVER_ERROR_CANCELLED, "a message");
    const Error same = error_of([&] { check(error.to_c()); });
    EXPECT_EQ(same.code(), TRITONSERVER_ERROR_CANCELLED);
    EXPECT_EQ(same.message(), "a message");
    ignore(error.to_c());
    ignore(nullptr);
    check(nullptr);
    EXPECT_EQ(fake().live("Error"), 0U);
}

}  // namespace
}  // namespace triton_inprocess::testing
