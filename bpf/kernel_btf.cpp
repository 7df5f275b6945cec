// SPDX-License-Identifier: MIT
#include "bpf/kernel_btf.hpp"

#include <bpf/btf.h>
#include <unistd.h>

namespace lull::bpf {

void KernelBtf::Deleter::operator()(btf* types) const {
    btf__free(types);
}

Result<KernelBtf> KernelBtf::load(const std::string& path) {
    if (::access(path.c_str(), R_OK) != 0) {
        return last_error(path + " (a kernel with CONFIG_DEBUG_INFO_BTF is needed for BPF)");
    }
    btf* types = btf__parse(path.c_str(), nullptr);
    if (types == nullptr) {
        return last_error(path);
    }
    return KernelBtf(types);
}

bool KernelBtf::has_tracepoint(const std::string& name) const {
    return btf__find_by_name_kind(types_.get(), ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF) >
           0;
}

bool KernelBtf::has_function(const std::string& name) const {
    return btf__find_by_name_kind(types_.get(), name.c_str(), BTF_KIND_FUNC) > 0;
}

}  // namespace lull::bpf
