#include "settings.h"

#include <charconv>
#include <limits>
#include <string>

#include "failure.h"
#include "json.h"

namespace identity {
namespace {

std::optional<std::uint32_t> number_parameter(const Json& configuration, const std::string& name,
                                              std::uint32_t largest = std::numeric_limits<std::uint32_t>::max()) {
    const Json* parameters = configuration.find("parameters");
    const Json* parameter = parameters != nullptr ? parameters->find(name) : nullptr;
    if (parameter == nullptr) {
        return std::nullopt;
    }
    const Json* value = parameter->find("string_value");
    const std::string text = value != nullptr ? value->text() : "";
    std::uint32_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size() || number > largest) {
        throw Failure(
            TRITONSERVER_ERROR_INVALID_ARG,
            "parameter '" + name + "' is '" + text + "'; expected a whole number from 0 to " + std::to_string(largest));
    }
    return number;
}

bool is_decoupled(const Json& configuration) {
    const Json* policy = configuration.find("model_transaction_policy");
    const Json* decoupled = policy != nullptr ? policy->find("decoupled") : nullptr;
    return decoupled != nullptr && decoupled->text() == "true";
}

bool has_batch_dimension(const Json& configuration) {
    const Json* max_batch_size = configuration.find("max_batch_size");
    return max_batch_size != nullptr && max_batch_size->text() != "0";
}

void check_together(const Settings& settings) {
    if (!settings.decoupled && settings.responses != 1) {
        throw Failure(TRITONSERVER_ERROR_INVALID_ARG, "parameter 'responses' is '" +
                                                          std::to_string(settings.responses) +
                                                          "'; a model that is not decoupled sends exactly 1");
    }
    if (settings.fail_after && *settings.fail_after >= settings.responses) {
        throw Failure(TRITONSERVER_ERROR_INVALID_ARG,
                      "parameter 'fail_after' is '" + std::to_string(*settings.fail_after) +
                          "'; expected less than the number of responses, " + std::to_string(settings.responses));
    }
}

}  // namespace

Settings Settings::from_model_configuration(std::string_view json) {
    const Json configuration = Json::parse(json);
    Settings settings;
    settings.batching = has_batch_dimension(configuration);
    settings.decoupled = is_decoupled(configuration);
    settings.fail_to_load = number_parameter(configuration, "fail_to_load", 1).value_or(0) == 1;
    settings.responses = number_parameter(configuration, "responses").value_or(1);
    settings.fail_after = number_parameter(configuration, "fail_after");
    settings.delay = std::chrono::microseconds(number_parameter(configuration, "delay_us").value_or(0));
    check_together(settings);
    return settings;
}

}  // namespace identity
