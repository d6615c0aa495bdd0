// The extension's classes and Triton's servers are one set for the process: there is one module of them.
#pragma once

#include <Python.h>

namespace triton_inprocess {

/// To be asked before anything of the module is made: null, or what Python is to be given instead, a module whose
/// import fails. What is registered a second time, or in a sub-interpreter, would take the first module's objects their
/// classes.
///
/// It is the import that fails, and not this call, which Python 3.13 makes in the main interpreter for a
/// sub-interpreter: the exception would be of the one and be freed by the other.
PyObject* refused_module() noexcept;

/// To be called first of all when the module is made; throws ImportError in a sub-interpreter.
void claim_import();

}  // namespace triton_inprocess
