// SPDX-License-Identifier: Apache-2.0
#include "baseline.h"

#include <algorithm>
#include <vector>

namespace
{

uint32_t left_size(uint32_t n)
{
    uint32_t height = 0, last, half;

    while ((2u << height) <= n)
        height++;
    if (!height)
        return 0;
    last = n - ((1u << height) - 1);
    half = 1u << (height - 1);
    return half - 1 + std::min(last, half);
}

void grow(const float *points, uint32_t k, size_t n, uint32_t node, uint32_t level, uint32_t *begin,
          uint32_t size, uint32_t *ids)
{
    const float *x = points + n * (level % k);
    const uint32_t left = left_size(size);

    std::nth_element(begin, begin + left, begin + size, [x](uint32_t a, uint32_t b) {
        return x[a] < x[b] || (x[a] == x[b] && a < b);
    });
    ids[node] = begin[left];
    if (left)
        grow(points, k, n, 2 * node + 1, level + 1, begin, left, ids);
    if (size - left > 1)
        grow(points, k, n, 2 * node + 2, level + 1, begin + left + 1, size - left - 1, ids);
}

} // namespace

void serial_build(const float *points, uint32_t k, uint32_t n, uint32_t *ret_ids)
{
    std::vector<uint32_t> order(n);

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (n)
        grow(points, k, n, 0, 0, order.data(), n, ret_ids);
}

#ifdef HAVE_NANOFLANN
#include <nanoflann.hpp>
#if NANOFLANN_VERSION >= 0x150 // members were renamed
#define ROOT   root_node_
#define POINTS vAcc_
#else
#define ROOT   root_node
#define POINTS vAcc
#endif

namespace
{

template <int K> struct cloud {
    std::vector<float> points; // K in a row

    size_t kdtree_get_point_count() const
    {
        return points.size() / K;
    }
    float kdtree_get_pt(size_t i, size_t d) const
    {
        return points[i * K + d];
    }
    template <class Box> bool kdtree_get_bbox(Box &) const
    {
        return false;
    }
};

template <int K>
using base_index =
    nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, cloud<K>>, cloud<K>, K,
                                        uint32_t>;

// Version 1.4 has no search in a box: this is what findWithinBox of later ones does.
template <int K> struct index : base_index<K> {
    using base_index<K>::base_index;
    using node = typename base_index<K>::NodePtr;

    void box(const node n, const float *low, const float *high, const cloud<K> &c,
             std::vector<uint32_t> &found) const
    {
        if (!n->child1) {
            for (auto i = n->node_type.lr.left; i < n->node_type.lr.right; i++) {
                const uint32_t p = this->POINTS[i];
                bool in = true;

                for (int d = 0; d < K && in; d++)
                    in = c.points[p * K + d] >= low[d] && c.points[p * K + d] <= high[d];
                if (in)
                    found.push_back(p);
            }
            return;
        }
        if (low[n->node_type.sub.divfeat] <= n->node_type.sub.divlow)
            box(n->child1, low, high, c, found);
        if (high[n->node_type.sub.divfeat] >= n->node_type.sub.divhigh)
            box(n->child2, low, high, c, found);
    }
};

} // namespace

struct nanoflann_tree {
    uint32_t k;
    cloud<3> cloud3;
    cloud<5> cloud5;
    index<3> *three = nullptr;
    index<5> *five = nullptr;
    mutable std::vector<uint32_t> found;
};

template <int K> static void fill(cloud<K> &c, const float *points, size_t n)
{
    c.points.resize(n * K);
    for (size_t i = 0; i < n; i++)
        for (int d = 0; d < K; d++)
            c.points[i * K + d] = points[n * d + i];
}

int nanoflann_is_here(void)
{
    return 1;
}

struct nanoflann_tree *nanoflann_build(const float *points, uint32_t k, uint32_t n)
{
    auto *t = new nanoflann_tree;

    t->k = k;
    if (k == 3) {
        fill(t->cloud3, points, n);
        t->three = new index<3>(3, t->cloud3);
    } else if (k == 5) {
        fill(t->cloud5, points, n);
        t->five = new index<5>(5, t->cloud5);
    } else {
        delete t;
        return nullptr;
    }
    return t;
}

void nanoflann_free(struct nanoflann_tree *t)
{
    if (t) {
        delete t->three;
        delete t->five;
    }
    delete t;
}

size_t nanoflann_box(const struct nanoflann_tree *t, const float *low, const float *high)
{
    t->found.clear();
    if (t->three)
        t->three->box(t->three->ROOT, low, high, t->cloud3, t->found);
    else
        t->five->box(t->five->ROOT, low, high, t->cloud5, t->found);
    return t->found.size();
}

#else

int nanoflann_is_here(void)
{
    return 0;
}

struct nanoflann_tree *nanoflann_build(const float *, uint32_t, uint32_t)
{
    return nullptr;
}

void nanoflann_free(struct nanoflann_tree *)
{
}

size_t nanoflann_box(const struct nanoflann_tree *, const float *, const float *)
{
    return 0;
}
#endif
