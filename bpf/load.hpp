// SPDX-License-Identifier: MIT
// What libbpf gives out, owned; and libbpf kept quiet.
#pragma once

#include <memory>

struct bpf_link;
struct ring_buffer;

namespace lull::bpf {

struct LinkDeleter {
    void operator()(bpf_link* link) const;
};
/// A program where it hangs; taken off with this.
using Link = std::unique_ptr<bpf_link, LinkDeleter>;

struct RingDeleter {
    void operator()(ring_buffer* ring) const;
};
using Ring = std::unique_ptr<ring_buffer, RingDeleter>;

/// Owns what SKELETON::open() gives.
template <typename SkeletonType>
struct SkeletonDeleter {
    void operator()(SkeletonType* skeleton) const { SkeletonType::destroy(skeleton); }
};
template <typename SkeletonType>
using Skeleton = std::unique_ptr<SkeletonType, SkeletonDeleter<SkeletonType>>;

/// libbpf prints to stderr of its own accord; what matters comes back as an error. For the whole
/// process.
void keep_libbpf_quiet();

}  // namespace lull::bpf
