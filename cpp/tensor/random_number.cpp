#include "tensor/random_number.h"

#include <sys/random.h>

#include <cerrno>

#include "tensor/system_error.h"

namespace triton_inprocess {

std::uint64_t random_number() {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != static_cast<ssize_t>(sizeof(number))) {
        throw system_error(errno, "cannot get a random number");
    }
    return number;
}

}  // namespace triton_inprocess
