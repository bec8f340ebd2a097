/* SPDX-License-Identifier: Apache-2.0 */
/* menu_file.h - the trigger menu as it stands in its YAML file; menu.c makes a menu of it. */
#ifndef TRIGD_MENU_FILE_H
#define TRIGD_MENU_FILE_H
#include <cyaml/cyaml.h>
#include <stdbool.h>
#include <stdint.h>

struct menu_file_item {
    char *name;
    uint32_t bit;
};
struct menu_file_type {
    char *name;
    uint32_t number;
};
struct menu_file_step { /* its `params` are read from the document: their keys are the plugin's */
    char *name, *plugin;
    char **inputs;
    uint32_t n_inputs;
    bool on_device;
};
struct menu_file_cut {
    char *value;
    bool absolute;
    float *min, *max;
};
struct menu_file_chain_step {
    char *step;
    struct menu_file_cut *cuts;
    uint32_t n_cuts;
};
struct menu_file_region {
    double *eta_min, *eta_max, *phi_min, *phi_max;
};
struct menu_file_expected {
    char *of;
    double *min, *max;
};
struct menu_file_chain {
    char *name;
    uint32_t id;
    char **seeds;
    uint32_t n_seeds;
    char **types;
    uint32_t n_types;
    struct menu_file_region *regions;
    uint32_t n_regions;
    struct menu_file_chain_step *steps;
    uint32_t n_steps;
    double *prescale;
    bool pass_through;
    uint32_t *multiplicity;
    char *combine;
    char *truncated, *priority, *fallback;
    struct menu_file_expected *expected;
    char **streams;
    uint32_t n_streams;
};
struct menu_file_keep {
    char *stream;
    bool *payload, *results; /* NULL: true */
    char **products;
    uint32_t n_products;
};
struct menu_file_axis { /* the second one of a histogram */
    char *value, *column;
    uint32_t bins;
    double min, max;
};
struct menu_file_histogram {
    char *name, *step, *value, *collection, *column, *chain;
    uint32_t bins;
    double min, max;
    struct menu_file_axis *y;
    struct menu_file_cut *cuts;
    uint32_t n_cuts;
};
struct menu_file {
    char *name, *decision;
    char **streams;
    uint32_t n_streams;
    struct menu_file_keep *keep;
    uint32_t n_keep;
    struct menu_file_item *l1_items;
    uint32_t n_l1_items;
    struct menu_file_type *types;
    uint32_t n_types;
    struct menu_file_step *steps;
    uint32_t n_steps;
    struct menu_file_chain *chains;
    uint32_t n_chains;
    struct menu_file_histogram *histograms;
    uint32_t n_histograms;
};
extern const cyaml_schema_value_t menu_file_schema;
#endif
