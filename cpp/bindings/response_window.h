// Requests in flight at once, and their responses one after the other.
#pragma once

#include <nanobind/nanobind.h>

#include <deque>
#include <vector>

#include "bindings/held_object.h"
#include "core/completion_group.h"

namespace triton_inprocess {

class ResponseIterator;

/// For models that send one response. While it waits, it sleeps until several responses are there if they come fast:
/// to be woken for each would cost more than the response.
class ResponseWindow {
  public:
    /// `ordered`: the responses come in the order of the requests, else as they are completed.
    explicit ResponseWindow(bool ordered) noexcept : ordered_(ordered) {}

    /// Adds a request, as the ResponseIterator whose responses nobody has asked for.
    void add(nanobind::object iterator);

    std::size_t size() const noexcept { return waiting_.size(); }

    /// The next response if it has come; else invalid.
    nanobind::object poll();

    /// Waits for it. Throws UNAVAILABLE when no request is left.
    nanobind::object take();

    std::vector<PyObject*> held() const;
    void let_go() noexcept;

  private:
    void watch(ResponseIterator& iterator);
    void sleep_for_several();
    nanobind::object poll_first();
    nanobind::object poll_any();
    nanobind::object take_first();
    nanobind::object take_any();
    HeldObject take_out(const std::deque<HeldObject>::iterator& place);

    bool ordered_;
    std::deque<HeldObject> waiting_;        ///< Their iterators, in the order of the requests.
    std::deque<Ref<ResponseQueue>> ready_;  ///< Told of, and not looked at yet.
    Ref<CompletionGroup> group_ = make_ref<CompletionGroup>();
};

void register_response_window(nanobind::module_& module);

}  // namespace triton_inprocess
