#include "core/front_end_functions.h"

#include <cstdint>
#include <exception>
#include <string>

#include "core/front_end.h"
#include "core/front_end_request.h"
#include "runtime/error.h"

namespace triton_inprocess {
namespace {

/// Does something for a front end; what is thrown becomes the error that the C function returns.
template <typename Action>
TRITONSERVER_Error* guarded(const Action& action) noexcept {
    try {
        return action();
    } catch (const Error& error) {
        return error.to_c();
    } catch (const std::exception& error) {
        return Error(TRITONSERVER_ERROR_INTERNAL, error.what()).to_c();
    }
}

void require(bool allowed, const std::string& what, const std::string& name) {
    if (!allowed) {
        throw Error(TRITONSERVER_ERROR_UNSUPPORTED,
                    what + " is switched off; " + name + "=True of Server.serve switches it on");
    }
}

void require_model_control(const FrontEnd& front_end) {
    require(front_end.access().model_control, "loading and unloading models", "allow_model_control");
}

/// A function of a server that only tells something.
template <auto Member>
struct Reading;

template <typename... Parameters, TRITONSERVER_Error* (*FunctionTable::*Member)(TRITONSERVER_Server*, Parameters...)>
struct Reading<Member> {
    static TRITONSERVER_Error* call(TRITONSERVER_Server* server, Parameters... parameters) noexcept {
        return guarded([&] {
            const Ref<FrontEnd> front_end = FrontEnd::find(server);
            if (!front_end) {
                return (api().*Member)(server, parameters...);
            }
            const FrontEnd::Call passed(front_end);
            return (api().*Member)(passed.server(), parameters...);
        });
    }
};

/// A function that loads or unloads a model.
template <typename Call>
TRITONSERVER_Error* changed_models(TRITONSERVER_Server* server, bool uploads, const Call& call) noexcept {
    return guarded([&] {
        const Ref<FrontEnd> front_end = FrontEnd::find(server);
        if (!front_end) {
            return call(server);
        }
        require_model_control(*front_end);
        require(!uploads || front_end->access().model_upload, "bringing a configuration or files along",
                "allow_model_upload");
        const LoadGate::Pass loading(front_end->server()->loading());
        const FrontEnd::Call passed(front_end);
        TRITONSERVER_Error* const error = call(passed.server());
        front_end->server()->count_model_change();
        return error;
    });
}

TRITONSERVER_Error* load_model(TRITONSERVER_Server* server, const char* name) noexcept {
    return changed_models(server, false,
                          [&](TRITONSERVER_Server* real) { return api().TRITONSERVER_ServerLoadModel(real, name); });
}

TRITONSERVER_Error* load_model_with(TRITONSERVER_Server* server, const char* name,
                                    const TRITONSERVER_Parameter** parameters, std::uint64_t count) noexcept {
    return changed_models(server, count != 0, [&](TRITONSERVER_Server* real) {
        return api().TRITONSERVER_ServerLoadModelWithParameters(real, name, parameters, count);
    });
}

TRITONSERVER_Error* unload_model(TRITONSERVER_Server* server, const char* name) noexcept {
    return changed_models(server, false,
                          [&](TRITONSERVER_Server* real) { return api().TRITONSERVER_ServerUnloadModel(real, name); });
}

TRITONSERVER_Error* unload_model_and_dependents(TRITONSERVER_Server* server, const char* name) noexcept {
    return changed_models(server, false, [&](TRITONSERVER_Server* real) {
        return api().TRITONSERVER_ServerUnloadModelAndDependents(real, name);
    });
}

/// What no front end has to call: it would take the server from those that it belongs to.
template <auto Member>
struct Refused;

template <typename... Parameters, TRITONSERVER_Error* (*FunctionTable::*Member)(TRITONSERVER_Server*, Parameters...)>
struct Refused<Member> {
    static TRITONSERVER_Error* call(TRITONSERVER_Server* server, Parameters... parameters) noexcept {
        return guarded([&] {
            if (FrontEnd::find(server)) {
                throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "a front end cannot do this to a server");
            }
            return (api().*Member)(server, parameters...);
        });
    }
};

/// A setting of the log, which front ends change by naming no options.
template <auto Member>
struct LogSetting;

template <typename Value, TRITONSERVER_Error* (*FunctionTable::*Member)(TRITONSERVER_ServerOptions*, Value)>
struct LogSetting<Member> {
    static TRITONSERVER_Error* call(TRITONSERVER_ServerOptions* options, Value value) noexcept {
        return guarded([&] {
            require(options != nullptr || FrontEnd::any_changes_log(), "changing what is logged", "allow_log_settings");
            return (api().*Member)(options, value);
        });
    }
};

TRITONSERVER_Error* set_log_file(TRITONSERVER_ServerOptions* options, const char* path) noexcept {
    return guarded([&] {
        if (options == nullptr) {
            throw Error(TRITONSERVER_ERROR_UNSUPPORTED, "the file of the log cannot be changed over the network");
        }
        return api().TRITONSERVER_ServerOptionsSetLogFile(options, path);
    });
}

TRITONSERVER_Error* new_request(TRITONSERVER_InferenceRequest** request, TRITONSERVER_Server* server,
                                const char* model_name, std::int64_t model_version) noexcept {
    return guarded([&]() -> TRITONSERVER_Error* {
        Ref<FrontEnd> front_end = FrontEnd::find(server);
        if (!front_end) {
            return api().TRITONSERVER_InferenceRequestNew(request, server, model_name, model_version);
        }
        *request = FrontEndRequest::create(std::move(front_end), model_name, model_version);
        return nullptr;
    });
}

TRITONSERVER_Error* delete_request(TRITONSERVER_InferenceRequest* request) noexcept {
    // Only a request that is gone frees its address for another one: forgotten first, and kept by nobody since.
    const Ref<FrontEndRequest> last = FrontEndRequest::find(request);
    FrontEndRequest::forget(request);
    return api().TRITONSERVER_InferenceRequestDelete(request);
}

TRITONSERVER_Error* set_release_callback(TRITONSERVER_InferenceRequest* request,
                                         TRITONSERVER_InferenceRequestReleaseFn_t function, void* user) noexcept {
    return guarded([&] {
        const Ref<FrontEndRequest> own = FrontEndRequest::find(request);
        return own ? own->set_release_callback(request, function, user)
                   : api().TRITONSERVER_InferenceRequestSetReleaseCallback(request, function, user);
    });
}

TRITONSERVER_Error* set_response_callback(TRITONSERVER_InferenceRequest* request,
                                          TRITONSERVER_ResponseAllocator* allocator, void* allocator_user,
                                          TRITONSERVER_InferenceResponseCompleteFn_t function, void* user) noexcept {
    return guarded([&] {
        const Ref<FrontEndRequest> own = FrontEndRequest::find(request);
        return own ? own->set_response_callback(request, allocator, allocator_user, function, user)
                   : api().TRITONSERVER_InferenceRequestSetResponseCallback(request, allocator, allocator_user,
                                                                            function, user);
    });
}

TRITONSERVER_Error* infer(TRITONSERVER_Server* server, TRITONSERVER_InferenceRequest* request,
                          TRITONSERVER_InferenceTrace* trace) noexcept {
    return guarded([&] {
        const Ref<FrontEndRequest> own = FrontEndRequest::find(request);
        return own ? own->infer(request, trace) : api().TRITONSERVER_ServerInferAsync(server, request, trace);
    });
}

}  // namespace

FunctionTable front_end_functions() noexcept {
    FunctionTable table = api();
#define READING(name) table.name = Reading<&FunctionTable::name>::call
    READING(TRITONSERVER_ServerIsLive);
    READING(TRITONSERVER_ServerIsReady);
    READING(TRITONSERVER_ServerModelIsReady);
    READING(TRITONSERVER_ServerModelBatchProperties);
    READING(TRITONSERVER_ServerModelTransactionProperties);
    READING(TRITONSERVER_ServerMetadata);
    READING(TRITONSERVER_ServerModelMetadata);
    READING(TRITONSERVER_ServerModelStatistics);
    READING(TRITONSERVER_ServerModelConfig);
    READING(TRITONSERVER_ServerModelIndex);
    READING(TRITONSERVER_ServerMetrics);
#undef READING
#define REFUSED(name) table.name = Refused<&FunctionTable::name>::call
    REFUSED(TRITONSERVER_ServerDelete);
    REFUSED(TRITONSERVER_ServerStop);
    REFUSED(TRITONSERVER_ServerSetExitTimeout);
    REFUSED(TRITONSERVER_ServerRegisterModelRepository);
    REFUSED(TRITONSERVER_ServerUnregisterModelRepository);
    REFUSED(TRITONSERVER_ServerPollModelRepository);
#undef REFUSED
#define LOG_SETTING(name) table.name = LogSetting<&FunctionTable::name>::call
    LOG_SETTING(TRITONSERVER_ServerOptionsSetLogInfo);
    LOG_SETTING(TRITONSERVER_ServerOptionsSetLogWarn);
    LOG_SETTING(TRITONSERVER_ServerOptionsSetLogError);
    LOG_SETTING(TRITONSERVER_ServerOptionsSetLogFormat);
    LOG_SETTING(TRITONSERVER_ServerOptionsSetLogVerbose);
#undef LOG_SETTING
    table.TRITONSERVER_ServerOptionsSetLogFile = set_log_file;
    table.TRITONSERVER_ServerLoadModel = load_model;
    table.TRITONSERVER_ServerLoadModelWithParameters = load_model_with;
    table.TRITONSERVER_ServerUnloadModel = unload_model;
    table.TRITONSERVER_ServerUnloadModelAndDependents = unload_model_and_dependents;
    table.TRITONSERVER_InferenceRequestNew = new_request;
    table.TRITONSERVER_InferenceRequestDelete = delete_request;
    table.TRITONSERVER_InferenceRequestSetReleaseCallback = set_release_callback;
    table.TRITONSERVER_InferenceRequestSetResponseCallback = set_response_callback;
    table.TRITONSERVER_ServerInferAsync = infer;
    return table;
}

}  // namespace triton_inprocess
