// SPDX-License-Identifier: MIT
#include "bpf/load.hpp"

#include <bpf/libbpf.h>

namespace lull::bpf {
namespace {

int silent(libbpf_print_level /*level*/, const char* /*format*/, va_list /*arguments*/) {
    return 0;
}

}  // namespace

void LinkDeleter::operator()(bpf_link* link) const {
    bpf_link__destroy(link);
}

void RingDeleter::operator()(ring_buffer* ring) const {
    ring_buffer__free(ring);
}

void keep_libbpf_quiet() {
    libbpf_set_print(silent);
}

}  // namespace lull::bpf
