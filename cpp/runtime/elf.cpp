#include "runtime/elf.h"

#include <elf.h>

#include <cstring>
#include <fstream>

#include "runtime/error.h"

namespace triton_inprocess {
namespace {

class ElfFile {
  public:
    explicit ElfFile(const std::string& path) : path_(path), stream_(path, std::ios::binary | std::ios::ate) {
        if (!stream_) {
            throw Error(TRITONSERVER_ERROR_NOT_FOUND, "cannot read '" + path + "'");
        }
        size_ = static_cast<std::uint64_t>(stream_.tellg());
        read(0, &header_, sizeof(header_));
        if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
            header_.e_type != ET_DYN || header_.e_phentsize != sizeof(Elf64_Phdr)) {
            refuse("it is not a 64-bit ELF shared library");
        }
        segments_.resize(header_.e_phnum);
        read(header_.e_phoff, segments_.data(), segments_.size() * sizeof(Elf64_Phdr));
        // Section headers come last in a file: where they are cut off, what is before them may still be whole.
        if (header_.e_shoff != 0 && !within(header_.e_shoff, std::uint64_t{header_.e_shnum} * header_.e_shentsize)) {
            refuse("it is truncated");
        }
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type == PT_LOAD && !within(segment.p_offset, segment.p_filesz)) {
                refuse("it is truncated");
            }
        }
    }

    std::vector<std::string> needed() {
        std::vector<std::uint64_t> names;
        std::uint64_t strings = 0;
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type != PT_DYNAMIC) {
                continue;
            }
            if (!within(segment.p_offset, segment.p_filesz)) {
                refuse("it is truncated");
            }
            std::vector<Elf64_Dyn> entries(segment.p_filesz / sizeof(Elf64_Dyn));
            read(segment.p_offset, entries.data(), entries.size() * sizeof(Elf64_Dyn));
            for (const Elf64_Dyn& entry : entries) {
                if (entry.d_tag == DT_NULL) {
                    break;
                }
                if (entry.d_tag == DT_NEEDED) {
                    names.push_back(entry.d_un.d_val);
                } else if (entry.d_tag == DT_STRTAB) {
                    strings = entry.d_un.d_ptr;
                }
            }
        }
        std::vector<std::string> result;
        result.reserve(names.size());
        for (std::uint64_t name : names) {
            result.push_back(string_at(strings + name));
        }
        return result;
    }

  private:
    [[noreturn]] void refuse(const std::string& reason) const {
        throw Error(TRITONSERVER_ERROR_INVALID_ARG, "'" + path_ + "' cannot be loaded: " + reason);
    }

    bool within(std::uint64_t offset, std::uint64_t count) const { return offset <= size_ && count <= size_ - offset; }

    void read(std::uint64_t offset, void* target, std::uint64_t count) {
        if (!within(offset, count)) {
            refuse("it is truncated or not an ELF shared library");
        }
        stream_.seekg(static_cast<std::streamoff>(offset));
        if (!stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(count))) {
            refuse("it cannot be read");
        }
    }

    std::string string_at(std::uint64_t address) {
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                address - segment.p_vaddr < segment.p_filesz) {
                stream_.seekg(static_cast<std::streamoff>(segment.p_offset + (address - segment.p_vaddr)));
                std::string text;
                std::getline(stream_, text, '\0');
                return text;
            }
        }
        refuse("its string table lies outside the file");
    }

    std::string path_;
    std::ifstream stream_;
    std::uint64_t size_ = 0;
    Elf64_Ehdr header_ = {};
    std::vector<Elf64_Phdr> segments_;
};

}  // namespace

std::vector<std::string> needed_libraries(const std::string& path) {
    return ElfFile(path).needed();
}

}  // namespace triton_inprocess
