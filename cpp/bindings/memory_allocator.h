// Users' allocators for outputs: objects with Python methods, and pairs of C functions.
#pragma once

#include <nanobind/nanobind.h>

#include "core/memory_allocator.h"

namespace triton_inprocess {

/// What asks a triton_inprocess.MemoryAllocator or NativeMemoryAllocator; TypeError for anything else.
Ref<MemoryAllocator> memory_allocator(nanobind::handle value);

void register_memory_allocator(nanobind::module_& module);

}  // namespace triton_inprocess
