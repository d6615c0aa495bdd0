// The implementation of nanobind's intrusive counter, which belongs into exactly one file.
#include <nanobind/intrusive/counter.inl>
