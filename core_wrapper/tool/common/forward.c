#include "core_wrapper/tool/common/forward.h"

#include "core_wrapper/tool/common/tool.h"
#include "net/platform/environment.h"

bool kl_forward_check(const struct kl_row *row, void *field, const char *value, char why[KL_ROW_TEXT]) {
    static struct kl_config scratch;
    *(const char **)field = value;
    return kl_row_set(kl_config_row(row->name), &scratch, value, why);
}

void kl_forward_set(struct kl_forward *f, const char *key, const char *value) {
    const struct kl_row *row = kl_config_row(key);
    char why[KL_ROW_TEXT];
    f->value[row - kl_config_rows] = value;
    if (!kl_row_set(row, &f->config, value, why)) tool_usage("--%s: %s", row->name, why);
}

const char *kl_forward_value(const struct kl_forward *f, const char *key) {
    return f->value[kl_config_row(key) - kl_config_rows];
}

void kl_forward_export(const struct kl_forward *f) {
    for (size_t i = 0; kl_row_is(&kl_config_rows[i]); i++)
        if (f->value[i] && kl_config_rows[i].variable)
            kl_environment_set(kl_config_rows[i].variable, f->value[i]);
}
