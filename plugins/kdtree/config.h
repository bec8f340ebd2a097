/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - parameters of the kdtree plugin and the presets of its layer pairs. */
#ifndef KD_CONFIG_H
#define KD_CONFIG_H
#include "kddoublets.h"
#include "trigd/plugin.h"

struct kdd_config {
    float pt_min_gev, field_t;
    float beam_x_mm, beam_y_mm, beam_z_mm, beam_half_mm;
    float barrel_half_mm, layer_mm[KDD_BARREL]; /* radii; that of layer 0 is not used */
    uint32_t crossed;
    uint32_t by_hand;
    uint32_t max_doublets, max_per_hit;
    float phi_rad[KDD_PAIRS_MAX]; /* 0: the pair is not used */
    float dz_mm[KDD_PAIRS_MAX];
};

extern const struct trg_param kdd_params[];
extern const struct trg_preset kdd_presets[];

/* The plugin's `check` and `output_items`. */
int kdd_check(const void *config, char *why, size_t bytes);
void kdd_output_items(const void *config, const uint32_t *n_in, uint32_t *n_out);

/* Most doublets of an RoI with n hits; the kernels have the same rule. */
uint32_t kdd_limit(const struct kdd_config *c, uint32_t n);

/* What a config says, as the kernels want it: cuts, pairs and limits; the rest of `ret` is left. */
void kdd_fill_par(const struct kdd_config *c, struct kdd_par *ret);
#endif
