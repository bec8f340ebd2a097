/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/menu_file.h"

#include "menu/menu.h"

#define PTR                     CYAML_FLAG_POINTER
#define OPT                     (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define NAME(key, type, member) CYAML_FIELD_STRING_PTR(key, PTR, type, member, 1, 63)

static const cyaml_schema_value_t string = {CYAML_VALUE_STRING(PTR, char, 1, 63)};

static const cyaml_schema_field_t item_fields[] = {
    NAME("name", struct menu_file_item, name),
    CYAML_FIELD_UINT("bit", CYAML_FLAG_DEFAULT, struct menu_file_item, bit), CYAML_FIELD_END};
static const cyaml_schema_value_t item = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct menu_file_item, item_fields)};

static const cyaml_schema_field_t type_fields[] = {
    NAME("name", struct menu_file_type, name),
    CYAML_FIELD_UINT("number", CYAML_FLAG_DEFAULT, struct menu_file_type, number), CYAML_FIELD_END};
static const cyaml_schema_value_t type = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct menu_file_type, type_fields)};

static const cyaml_schema_field_t step_fields[] = {
    NAME("name", struct menu_file_step, name),
    NAME("plugin", struct menu_file_step, plugin),
    CYAML_FIELD_SEQUENCE_COUNT("inputs", OPT, struct menu_file_step, inputs, n_inputs, &string, 1,
                               TRG_INPUTS_MAX),
    CYAML_FIELD_BOOL("on_device", CYAML_FLAG_OPTIONAL, struct menu_file_step, on_device),
    CYAML_FIELD_IGNORE("params", CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_END};
static const cyaml_schema_value_t step = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct menu_file_step, step_fields)};

static const cyaml_schema_field_t cut_fields[] = {
    NAME("value", struct menu_file_cut, value),
    CYAML_FIELD_BOOL("absolute", CYAML_FLAG_OPTIONAL, struct menu_file_cut, absolute),
    CYAML_FIELD_FLOAT_PTR("min", OPT, struct menu_file_cut, min),
    CYAML_FIELD_FLOAT_PTR("max", OPT, struct menu_file_cut, max), CYAML_FIELD_END};
static const cyaml_schema_value_t cut = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct menu_file_cut, cut_fields)};

static const cyaml_schema_field_t chain_step_fields[] = {
    NAME("step", struct menu_file_chain_step, step),
    CYAML_FIELD_SEQUENCE_COUNT("cuts", OPT, struct menu_file_chain_step, cuts, n_cuts, &cut, 0,
                               TRG_VALUES_MAX),
    CYAML_FIELD_END};
static const cyaml_schema_value_t chain_step = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct menu_file_chain_step, chain_step_fields)};

static const cyaml_schema_field_t region_fields[] = {
    CYAML_FIELD_FLOAT_PTR("eta_min", OPT, struct menu_file_region, eta_min),
    CYAML_FIELD_FLOAT_PTR("eta_max", OPT, struct menu_file_region, eta_max),
    CYAML_FIELD_FLOAT_PTR("phi_min_rad", OPT, struct menu_file_region, phi_min),
    CYAML_FIELD_FLOAT_PTR("phi_max_rad", OPT, struct menu_file_region, phi_max), CYAML_FIELD_END};
static const cyaml_schema_value_t region = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct menu_file_region, region_fields)};

static const cyaml_schema_field_t expected_fields[] = {
    CYAML_FIELD_STRING_PTR("of", OPT, struct menu_file_expected, of, 1, 63),
    CYAML_FIELD_FLOAT_PTR("min", OPT, struct menu_file_expected, min),
    CYAML_FIELD_FLOAT_PTR("max", OPT, struct menu_file_expected, max), CYAML_FIELD_END};

static const cyaml_schema_field_t chain_fields[] = {
    NAME("name", struct menu_file_chain, name),
    CYAML_FIELD_UINT("id", CYAML_FLAG_DEFAULT, struct menu_file_chain, id),
    CYAML_FIELD_SEQUENCE_COUNT("seeds", OPT, struct menu_file_chain, seeds, n_seeds, &string, 1,
                               32),
    CYAML_FIELD_SEQUENCE_COUNT("types", OPT, struct menu_file_chain, types, n_types, &string, 1,
                               ROI_TYPES),
    CYAML_FIELD_SEQUENCE_COUNT("regions", OPT, struct menu_file_chain, regions, n_regions, &region,
                               1, MENU_REGIONS_MAX),
    CYAML_FIELD_SEQUENCE_COUNT("steps", OPT, struct menu_file_chain, steps, n_steps, &chain_step, 0,
                               MENU_CHAIN_STEPS_MAX),
    CYAML_FIELD_FLOAT_PTR("prescale", OPT, struct menu_file_chain, prescale),
    CYAML_FIELD_BOOL("pass_through", CYAML_FLAG_OPTIONAL, struct menu_file_chain, pass_through),
    CYAML_FIELD_UINT_PTR("multiplicity", OPT, struct menu_file_chain, multiplicity),
    CYAML_FIELD_STRING_PTR("combine", OPT, struct menu_file_chain, combine, 1, 1023),
    CYAML_FIELD_STRING_PTR("truncated", OPT, struct menu_file_chain, truncated, 1, 63),
    CYAML_FIELD_STRING_PTR("priority", OPT, struct menu_file_chain, priority, 1, 63),
    CYAML_FIELD_STRING_PTR("fallback", OPT, struct menu_file_chain, fallback, 1, 63),
    CYAML_FIELD_MAPPING_PTR("expected", OPT, struct menu_file_chain, expected, expected_fields),
    CYAML_FIELD_SEQUENCE_COUNT("streams", PTR, struct menu_file_chain, streams, n_streams, &string,
                               1, MENU_STREAMS_MAX),
    CYAML_FIELD_END};
static const cyaml_schema_value_t chain = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct menu_file_chain, chain_fields)};

static const cyaml_schema_field_t keep_fields[] = {
    NAME("stream", struct menu_file_keep, stream),
    CYAML_FIELD_BOOL_PTR("payload", OPT, struct menu_file_keep, payload),
    CYAML_FIELD_BOOL_PTR("results", OPT, struct menu_file_keep, results),
    CYAML_FIELD_SEQUENCE_COUNT("products", OPT, struct menu_file_keep, products, n_products,
                               &string, 0, MENU_STEPS_MAX),
    CYAML_FIELD_END};
static const cyaml_schema_value_t keep = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct menu_file_keep, keep_fields)};

static const cyaml_schema_field_t axis_fields[] = {
    CYAML_FIELD_STRING_PTR("value", OPT, struct menu_file_axis, value, 1, 63),
    CYAML_FIELD_STRING_PTR("column", OPT, struct menu_file_axis, column, 1, 63),
    CYAML_FIELD_UINT("bins", CYAML_FLAG_DEFAULT, struct menu_file_axis, bins),
    CYAML_FIELD_FLOAT("min", CYAML_FLAG_DEFAULT, struct menu_file_axis, min),
    CYAML_FIELD_FLOAT("max", CYAML_FLAG_DEFAULT, struct menu_file_axis, max),
    CYAML_FIELD_END};

static const cyaml_schema_field_t histogram_fields[] = {
    NAME("name", struct menu_file_histogram, name),
    NAME("step", struct menu_file_histogram, step),
    CYAML_FIELD_STRING_PTR("value", OPT, struct menu_file_histogram, value, 1, 63),
    CYAML_FIELD_STRING_PTR("collection", OPT, struct menu_file_histogram, collection, 1, 63),
    CYAML_FIELD_STRING_PTR("column", OPT, struct menu_file_histogram, column, 1, 63),
    CYAML_FIELD_STRING_PTR("chain", OPT, struct menu_file_histogram, chain, 1, 63),
    CYAML_FIELD_UINT("bins", CYAML_FLAG_DEFAULT, struct menu_file_histogram, bins),
    CYAML_FIELD_FLOAT("min", CYAML_FLAG_DEFAULT, struct menu_file_histogram, min),
    CYAML_FIELD_FLOAT("max", CYAML_FLAG_DEFAULT, struct menu_file_histogram, max),
    CYAML_FIELD_MAPPING_PTR("y", OPT, struct menu_file_histogram, y, axis_fields),
    CYAML_FIELD_SEQUENCE_COUNT("cuts", OPT, struct menu_file_histogram, cuts, n_cuts, &cut, 0,
                               TRG_VALUES_MAX),
    CYAML_FIELD_END};
static const cyaml_schema_value_t histogram = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct menu_file_histogram, histogram_fields)};

static const cyaml_schema_field_t menu_fields[] = {
    CYAML_FIELD_STRING_PTR("name", OPT, struct menu_file, name, 1, 63),
    CYAML_FIELD_STRING_PTR("decision", OPT, struct menu_file, decision, 1, 63),
    CYAML_FIELD_SEQUENCE_COUNT("streams", PTR, struct menu_file, streams, n_streams, &string, 0,
                               CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE_COUNT("keep", OPT, struct menu_file, keep, n_keep, &keep, 0,
                               MENU_STREAMS_MAX),
    CYAML_FIELD_SEQUENCE_COUNT("l1_items", OPT, struct menu_file, l1_items, n_l1_items, &item, 0,
                               32),
    CYAML_FIELD_SEQUENCE_COUNT("roi_types", OPT, struct menu_file, types, n_types, &type, 0,
                               ROI_TYPES),
    CYAML_FIELD_SEQUENCE_COUNT("steps", PTR, struct menu_file, steps, n_steps, &step, 0,
                               MENU_STEPS_MAX),
    CYAML_FIELD_SEQUENCE_COUNT("chains", PTR, struct menu_file, chains, n_chains, &chain, 1,
                               MENU_CHAINS_MAX),
    CYAML_FIELD_SEQUENCE_COUNT("histograms", OPT, struct menu_file, histograms, n_histograms,
                               &histogram, 0, MENU_HISTOGRAMS_MAX),
    CYAML_FIELD_END};
const cyaml_schema_value_t menu_file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct menu_file, menu_fields)};
