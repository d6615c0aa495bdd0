#include "bindings/numpy_abi.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "bindings/sole_reference.h"
#include "runtime/error.h"

namespace nb = nanobind;

namespace triton_inprocess {
namespace {

struct Description {
    PyObject head;
    PyTypeObject* scalar_type;
    char kind;
    char letter;
    char byte_order;
    char former_flags;
    int type_number;
};

struct Array {
    PyObject head;
    void* data;
    int rank;
    std::intptr_t* shape;
    std::intptr_t* strides;
    PyObject* base;
    Description* description;
    int flags;
    PyObject* weak_references;
};

constexpr int flag_c_order = 0x1;
constexpr int flag_owns_memory = 0x4;
constexpr int flag_aligned = 0x100;
constexpr int flag_writable = 0x400;
constexpr int flag_written_back = 0x2000;  // to its base, when it goes

constexpr char other_byte_order = '>';

/// Triton's types by numpy's numbers of its own.
constexpr std::array<DataType, 24> data_types = [] {
    std::array<DataType, 24> types = {};
    types[0] = TRITONSERVER_TYPE_BOOL;
    types[1] = TRITONSERVER_TYPE_INT8;
    types[2] = TRITONSERVER_TYPE_UINT8;
    types[3] = TRITONSERVER_TYPE_INT16;
    types[4] = TRITONSERVER_TYPE_UINT16;
    types[5] = TRITONSERVER_TYPE_INT32;
    types[6] = TRITONSERVER_TYPE_UINT32;
    types[7] = TRITONSERVER_TYPE_INT64;  // long
    types[8] = TRITONSERVER_TYPE_UINT64;
    types[9] = TRITONSERVER_TYPE_INT64;  // long long
    types[10] = TRITONSERVER_TYPE_UINT64;
    types[11] = TRITONSERVER_TYPE_FP32;
    types[12] = TRITONSERVER_TYPE_FP64;
    types[23] = TRITONSERVER_TYPE_FP16;
    return types;
}();
static_assert(TRITONSERVER_TYPE_INVALID == 0 && sizeof(long) == 8, "what the table does not name is INVALID");

DataType data_type_of(int type_number) noexcept {
    const auto index = static_cast<std::size_t>(type_number);
    return index < data_types.size() ? data_types[index] : TRITONSERVER_TYPE_INVALID;
}

int type_number_of(DataType data_type) {
    const auto* const found = std::find(data_types.begin(), data_types.end(), data_type);
    return static_cast<int>(found - data_types.begin());
}

/// The functions and types by number; the numbers are the same in every numpy.
class NumpyAbi {
  public:
    explicit constexpr NumpyAbi(void** table) noexcept : table_(table) {}

    unsigned version() const { return function<unsigned()>(0)(); }
    PyTypeObject* array_type() const noexcept { return static_cast<PyTypeObject*>(table_[2]); }

    PyObject* new_array(int rank, const std::intptr_t* shape, int type_number, void* data, int flags) const {
        using New =
            PyObject*(PyTypeObject*, int, const std::intptr_t*, int, const std::intptr_t*, void*, int, int, PyObject*);
        return function<New>(93)(array_type(), rank, shape, type_number, nullptr, data, 0, flags, nullptr);
    }

    /// Takes the reference to `owner`, whatever comes of it.
    int set_owner(PyObject* array, PyObject* owner) const {
        return function<int(PyObject*, PyObject*)>(282)(array, owner);
    }

  private:
    template <typename Signature>
    Signature* function(std::size_t number) const noexcept {
        return reinterpret_cast<Signature*>(table_[number]);
    }

    void** table_;
};

nb::object table_capsule() {
    try {
        return nb::module_::import_("numpy._core._multiarray_umath").attr("_ARRAY_API");
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_ModuleNotFoundError)) {
            throw;
        }
    }
    return nb::module_::import_("numpy.core._multiarray_umath").attr("_ARRAY_API");  // numpy 1
}

void** find_table() {
    auto** const table = static_cast<void**>(PyCapsule_GetPointer(table_capsule().ptr(), nullptr));
    if (table == nullptr) {
        throw nb::python_error();
    }
    const unsigned major = NumpyAbi(table).version() >> 24;
    if (major != 1 && major != 2) {
        throw nb::import_error(("the C interface of this numpy is " + std::to_string(major) +
                                ".x; triton_inprocess knows those of numpy 1 and 2")
                                   .c_str());
    }
    return table;
}

std::atomic<void**> known_table{nullptr};

NumpyAbi numpy_abi() {
    void** table = known_table.load(std::memory_order_acquire);
    if (table == nullptr) {
        table = find_table();  // two threads may both find the same
        known_table.store(table, std::memory_order_release);
    }
    return NumpyAbi(table);
}

bool owns_memory(const Array& array) noexcept {
    return (array.flags & flag_owns_memory) != 0 && array.base == nullptr && array.weak_references == nullptr;
}

/// 0 for types that Triton has not.
std::size_t bytes_of(const Array& array) {
    const DataType data_type = data_type_of(array.description->type_number);
    return data_type == TRITONSERVER_TYPE_INVALID
               ? 0
               : byte_size_of(data_type, reinterpret_cast<const std::int64_t*>(array.shape),
                              static_cast<std::size_t>(array.rank));
}

/// The array behind the object; null for what is not exactly a numpy.ndarray.
const Array* array_of(nb::handle object) {
    return Py_TYPE(object.ptr()) == numpy_abi().array_type() ? reinterpret_cast<const Array*>(object.ptr()) : nullptr;
}

}  // namespace

std::optional<PlainArray> plain_array(nb::handle object) {
    const Array* const array = array_of(object);
    if (array == nullptr || (array->flags & flag_c_order) == 0 || array->description->byte_order == other_byte_order) {
        return std::nullopt;
    }
    const DataType data_type = data_type_of(array->description->type_number);
    if (data_type == TRITONSERVER_TYPE_INVALID) {
        return std::nullopt;
    }
    return PlainArray{array->data, {array->shape, array->shape + array->rank}, data_type};
}

bool is_writable_array(nb::handle object) {
    const Array* const array = array_of(object);
    return array != nullptr && (array->flags & flag_writable) != 0;
}

bool is_sole_array(nb::handle object) {
    const Array* const array = array_of(object);
    if (array == nullptr || array->weak_references != nullptr || (array->flags & flag_written_back) != 0) {
        return false;
    }
    if (array->base == nullptr) {
        return owns_memory(*array);
    }
    // numpy has views of views refer to the first array. A small part of it is not worth keeping the whole.
    const Array* const base = array_of(array->base);
    return base != nullptr && has_one_reference(array->base) && owns_memory(*base) &&
           2 * bytes_of(*array) >= bytes_of(*base) && bytes_of(*base) != 0;
}

nb::object array_over(void* data, const std::vector<std::int64_t>& shape, DataType data_type, bool read_only,
                      nb::object owner) {
    static_assert(sizeof(std::intptr_t) == sizeof(std::int64_t), "numpy's sizes are Triton's");
    const NumpyAbi abi = numpy_abi();
    const int flags = flag_c_order | flag_aligned | (read_only ? 0 : flag_writable);
    nb::object array =
        nb::steal(abi.new_array(static_cast<int>(shape.size()), reinterpret_cast<const std::intptr_t*>(shape.data()),
                                type_number_of(data_type), data, flags));
    if (!array.is_valid() || abi.set_owner(array.ptr(), owner.release().ptr()) != 0) {
        throw nb::python_error();
    }
    return array;
}

}  // namespace triton_inprocess
