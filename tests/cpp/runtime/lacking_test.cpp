// A library that lacks functions is loaded; calling one is an error that names it.
#include "runtime/runtime.h"
#include "support/fake_triton.h"

namespace triton_inprocess::testing {
namespace {

using LackingTest = RuntimeTest;

TEST_F(LackingTest, MissingFunctionsAreListed) {
    EXPECT_EQ(Runtime::current().missing_functions(),
              (std::vector<std::string>{"TRITONSERVER_InferenceRequestCancel", "TRITONBACKEND_RequestRelease"}));
}

TEST_F(LackingTest, CallingOneSaysWhatIsMissingAndWhoHasIt) {
    const Error error = error_of([] { check(api().TRITONSERVER_InferenceRequestCancel(nullptr)); });
    EXPECT_EQ(error.code(), TRITONSERVER_ERROR_UNSUPPORTED);
    for (const char* part :
         {"TRITONSERVER_InferenceRequestCancel", TRITON_INPROCESS_TEST_LIBRARY, "C API 1.34", "1.25"}) {
        EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
    }
    const Error backend = error_of([] { check(api().TRITONBACKEND_RequestRelease(nullptr, 0)); });
    EXPECT_EQ(backend.code(), TRITONSERVER_ERROR_UNSUPPORTED);
    EXPECT_NE(backend.message().find("backend API"), std::string::npos);
}

TEST_F(LackingTest, TheOthersWork) {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    check(api().TRITONSERVER_ApiVersion(&major, &minor));
    EXPECT_EQ(minor, 34U);
    fake().set_api_version(1, 27);
    check(api().TRITONSERVER_ApiVersion(&major, &minor));
    EXPECT_EQ(minor, 27U);
}

}  // namespace
}  // namespace triton_inprocess::testing
