#include "runtime/function_table.h"

#include <dlfcn.h>

#include <array>
#include <type_traits>
#include <utility>

#include "runtime/error.h"

namespace triton_inprocess {
namespace {

enum class Function : std::size_t {
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) name,
#include "abi/functions.def"
#undef TRITON_FUNCTION
};

/// What the table of the C ABI says about one function.
struct FunctionFact {
    const char* name;
    const char* api;  ///< "SERVER" or "BACKEND"
    int major;
    int minor;
    bool returns_error;
};

constexpr std::array<FunctionFact, function_count> facts = {{
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) \
    {#name, #api, major, minor, std::is_same_v<returns, TRITONSERVER_Error*>},
#include "abi/functions.def"
#undef TRITON_FUNCTION
}};

FunctionTable table = {};
std::array<bool, function_count> present = {};

std::size_t index_of(const std::string& name) noexcept {
    std::size_t index = 0;
    while (index < function_count && name != facts[index].name) {
        ++index;
    }
    return index;
}

// Set once while loading, read by stand-ins afterwards.
std::string& library_description() {
    static std::string description;
    return description;
}

std::string missing_message(const FunctionFact& fact) {
    const char* api_name = std::string(fact.api) == "SERVER" ? "C API" : "backend API";
    return std::string(fact.name) + " is not in " + library_description() + "; the first " + api_name +
           " that has it is " + std::to_string(fact.major) + "." + std::to_string(fact.minor);
}

template <typename Result>
Result missing(Function function) noexcept {
    if constexpr (std::is_same_v<Result, TRITONSERVER_Error*>) {
        const FunctionFact& fact = facts[static_cast<std::size_t>(function)];
        return table.TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, missing_message(fact).c_str());
    } else {
        std::terminate();  // unreachable: fill_function_table refuses a library that lacks such a function
    }
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) \
    returns stand_in_##name parameters {                                         \
        return missing<returns>(Function::name);                                 \
    }
#include "abi/functions.def"
#undef TRITON_FUNCTION
#pragma GCC diagnostic pop

template <typename Pointer>
Pointer resolve(void* handle, Function function, Pointer stand_in, std::vector<std::string>& missing_names) {
    const FunctionFact& fact = facts[static_cast<std::size_t>(function)];
    if (void* symbol = dlsym(handle, fact.name)) {
        return reinterpret_cast<Pointer>(symbol);
    }
    if (!fact.returns_error) {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG,
                    library_description() + " is not a libtritonserver: it lacks " + fact.name);
    }
    missing_names.emplace_back(fact.name);
    return stand_in;
}

}  // namespace

const FunctionTable& api() noexcept {
    return table;
}

bool available(const std::string& function) noexcept {
    const std::size_t index = index_of(function);
    return index < function_count && present[index];
}

void require_function(const std::string& function) {
    if (!available(function)) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED, missing_message(facts.at(index_of(function))));
    }
}

namespace detail {

void describe_library(std::string description) {
    library_description() = std::move(description);
}

std::vector<std::string> fill_function_table(void* handle, const std::string& library) {
    describe_library(library);
    FunctionTable filled = {};
    std::vector<std::string> missing_names;
#define TRITON_FUNCTION(api, name, major, minor, returns, parameters, arguments) \
    filled.name = resolve(handle, Function::name, &stand_in_##name, missing_names);
#include "abi/functions.def"
#undef TRITON_FUNCTION
    table = filled;
    present.fill(true);
    for (const std::string& name : missing_names) {
        present[index_of(name)] = false;
    }
    return missing_names;
}

}  // namespace detail
}  // namespace triton_inprocess
