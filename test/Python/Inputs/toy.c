/* A network written by hand, in the form that Emit gives compiled ones: sum = a + b[0], twice =
   min(2 * b, 255). With b[3] = 255 it waits until a[0] is not 0 (ten seconds at most) before it
   computes. */
#include "../../../lib/Runtime/model.c"

static void step(const volatile float *a, const uint8_t *b, float *sum, uint8_t *twice,
                 int64_t begin, int64_t end) {
  for (int i = 0; b[3] == 255 && a[0] == 0 && i < 10000; ++i)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  for (int64_t i = begin; i < end; ++i)
    sum[i] = a[i] + b[0];
  for (int i = 0; begin == 0 && i < 4; ++i)
    twice[i] = b[i] > 127 ? 255 : 2 * b[i];
}

static const int64_t shape_a[] = {2, 3}, shape_b[] = {4};
static const octet_tensor inputs[] = {{"a", OCTET_F32, 2, shape_a, 24, 0, 0},
                                      {"b", OCTET_U8, 1, shape_b, 4, 0.5f, 3}};
static const octet_tensor outputs[] = {{"sum", OCTET_F32, 2, shape_a, 24, 0, 0},
                                       {"twice", OCTET_U8, 1, shape_b, 4, 0.5f, 3}};

static void call4(kernel_fn kernel, const int64_t *arguments, int64_t begin, int64_t end) {
  typedef void (*kernel4_fn)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
  ((kernel4_fn)kernel)(arguments[0], arguments[1], arguments[2], arguments[3], begin, end);
}

static const int32_t lists[] = {
    4, 0 << 3 | OCTET_INPUT, 1 << 3 | OCTET_INPUT, 0 << 3 | OCTET_OUTPUT, 1 << 3 | OCTET_OUTPUT, 0};
static int32_t calls[5];
static octet_step_record steps[1];
__attribute__((constructor)) static void fill_tables(void) {
  steps[0] = (octet_step_record){(char *)step - (char *)steps, "add" - (char *)steps, 6, 0, 5};
  calls[4] = (char *)call4 - (char *)calls;
}
static const octet_level levels[] = {{"reference", 1}};
static const octet_program_record programs[] = {{steps, 0, 0, 0}};
static const char report[] =
    "{\"operators\": [{\"name\": \"add\", \"operator\": \"nn.add\", \"verdict\": \"int8\", "
    "\"pattern\": \"cpu::add\"},"
    " {\"name\": \"end\", \"operator\": \"nn.softmax\", \"verdict\": \"float\", \"code\": "
    "\"OCT104\","
    " \"reason\": \"no integer form\", \"remedy\": \"none needed\", \"refused\": true}]}";

const octet_network octet_model_network = {
    {OCTET_ABI, "toy", 64, 0, 0, NULL, 2, 2, 1, inputs, outputs, levels, report},
    programs,
    NULL,
    lists,
    calls};
