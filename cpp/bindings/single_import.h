// The extension's classes and Triton's servers are one set for the process: there is one module of them.
#pragma once

namespace triton_inprocess {

/// To be called before anything of the module is made. False, with an ImportError set, when it was made already, and in
/// a sub-interpreter: what is registered a second time would take the first module's objects their classes.
bool claim_import() noexcept;

/// Throws ImportError in a sub-interpreter: from Python 3.13 on, the main one makes what a sub-interpreter then fills.
void require_main_interpreter();

}  // namespace triton_inprocess
