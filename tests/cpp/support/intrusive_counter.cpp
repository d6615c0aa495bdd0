// The implementation of nanobind's intrusive counter, which the extension gives otherwise. It needs no Python.
#include <nanobind/intrusive/counter.inl>
