/* Runs the level avx512vnni of a network on a CPU that has AVX-512 but not its VNNI instructions,
   and the level avxvnni on one that has AVX2 only: the one instruction that these levels use
   beside, VPDPBUSD on zmm or ymm registers, traps as illegal and is computed here, bit by bit as
   the manual has it. Slow (some 2.5 microseconds each), for tests only.

   A library like those that Octet makes: it takes the network from the library that OCTET_EMULATED
   names, and brings a copy of the runtime that believes the CPU to have VNNI. x86-64 Linux. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#undef bit_AVX512VNNI
#undef bit_AVXVNNI
#define bit_AVX512VNNI 0 || 1 /* in `ecx & bit_AVX512VNNI` */
#define bit_AVXVNNI 0 || 1
#include "../../lib/Runtime/model.c"

/* The runtime's octet_model_network: filled in when the library is loaded. */
static octet_network network __asm__("octet_model_network");

/* ---- the registers in a signal's frame: an XSAVE area in its standard form (Intel SDM 1, 13.4)
 * ---- */

static unsigned ymm_high, zmm_high,
    zmm16; /* offsets: bytes 16..31 of zmm0-15, bytes 32..63 of them, zmm16-31 */

static unsigned get_offset(unsigned component) {
  unsigned size, offset, c, d;
  __cpuid_count(0xd, component, size, offset, c, d);
  return offset;
}

/* Copies the first `bytes` (32 or 64) of vector register `number` out of the area, or into it. */
static void copy_vector(uint8_t *area, int number, int bytes, uint8_t *value, int is_write) {
  struct {
    unsigned offset, size;
  } parts[3] = {
      {160 + 16 * number, 16}, {ymm_high + 16 * number, 16}, {zmm_high + 32 * number, 32}};
  int count = bytes == 64 ? 3 : 2;
  if (number >= 16) {
    parts[0].offset = zmm16 + 64 * (number - 16);
    parts[0].size = 64;
    count = 1;
  }
  for (int i = 0; i < count; ++i) {
    memcpy(is_write ? area + parts[i].offset : value, is_write ? value : area + parts[i].offset,
           parts[i].size);
    value += parts[i].size;
  }
}

/* ---- the instruction: EVEX.512.66.0F38.W0 50 /r (Intel SDM 2, 2.7) or VEX.256.66.0F38.W0 50 /r
 * (2.3) ---- */

static void stop(const char *why) {
  (void)!write(2, why, strlen(why));
  _exit(99);
}

static uint64_t get_register(const greg_t *registers, int number) {
  static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
  return (uint64_t)registers[order[number]];
}

static int32_t read_i32(const uint8_t *at) {
  int32_t value;
  memcpy(&value, at, 4);
  return value;
}

/* Address of the memory operand whose ModRM byte is at `modrm`; sets `*end` to the end of the
   instruction. */
static const uint8_t *get_address(const greg_t *registers, const uint8_t *modrm, int x, int b,
                                  int displacement_scale, const uint8_t **end) {
  int mod = *modrm >> 6, rm = *modrm & 7, is_relative = mod == 0 && rm == 5,
      has_base = !is_relative;
  const uint8_t *next = modrm + 1;
  uint64_t address = 0;
  if (rm == 4) {
    int sib = *next++, index = (sib >> 3 & 7) | x << 3;
    if (index != 4)
      address += get_register(registers, index) << (sib >> 6);
    rm = sib & 7;
    has_base = !(mod == 0 && rm == 5);
  }
  if (has_base)
    address += get_register(registers, rm | b << 3);
  if (mod == 1)
    address += (int64_t)(int8_t)*next++ * displacement_scale;
  if (mod == 2 || !has_base) {
    address += (int64_t)read_i32(next);
    next += 4;
  }
  *end = next;
  return (const uint8_t *)(is_relative ? address + (uint64_t)next : address);
}

/* A VPDPBUSD: its registers, and what its memory operand needs. */
typedef struct instruction {
  int bytes; /* of its registers */
  int sum, unsigned_bytes, signed_bytes;
  int x, b, is_broadcast, displacement_scale;
  const uint8_t *modrm;
} instruction;

/* Reads the instruction at `at`; 0 if it is another one. */
static int decode(const uint8_t *at, instruction *i) {
  int p0 = at[1], p1 = at[2], p2 = at[3];
  if (at[0] == 0xc4 && (p0 & 0x1f) == 2 && (p1 & 0x83) == 1 && at[3] == 0x50) {
    if (!(p1 & 4))
      stop("emulated VNNI: expected VPDPBUSD on ymm registers\n");
    int r = !(p0 & 0x80), x = !(p0 & 0x40), b = !(p0 & 0x20), modrm = at[4];
    *i = (instruction){
        32, (modrm >> 3 & 7) | r << 3, ~(p1 >> 3) & 15, (modrm & 7) | b << 3, x, b, 0, 1, at + 4};
    return 1;
  }
  if (at[0] != 0x62 || (p0 & 7) != 2 || (p1 & 0x83) != 1 || at[4] != 0x50)
    return 0;
  if ((p2 & 0x60) != 0x40 || p2 & 7)
    stop("emulated VNNI: expected VPDPBUSD on zmm registers without a mask\n");
  int r = !(p0 & 0x80), x = !(p0 & 0x40), b = !(p0 & 0x20), r_high = !(p0 & 0x10),
      v_high = !(p2 & 8), is_broadcast = p2 >> 4 & 1, modrm = at[5];
  *i = (instruction){64,
                     (modrm >> 3 & 7) | r << 3 | r_high << 4,
                     (~(p1 >> 3) & 15) | v_high << 4,
                     (modrm & 7) | b << 3 | x << 4,
                     x,
                     b,
                     is_broadcast,
                     is_broadcast ? 4 : 64,
                     at + 5};
  return 1;
}

/* Computes the VPDPBUSD at `at`; its end, or `at` if another instruction stands there. */
static const uint8_t *emulate(const uint8_t *at, const greg_t *registers, uint8_t *area) {
  instruction i;
  if (!decode(at, &i))
    return at;
  const uint8_t *end = i.modrm + 1;
  uint8_t unsigned_bytes[64], signed_bytes[64];
  uint32_t lanes[16];
  copy_vector(area, i.sum, i.bytes, (uint8_t *)lanes, 0);
  copy_vector(area, i.unsigned_bytes, i.bytes, unsigned_bytes, 0);
  if (*i.modrm >> 6 == 3) {
    copy_vector(area, i.signed_bytes, i.bytes, signed_bytes, 0);
  } else {
    const uint8_t *memory = get_address(registers, i.modrm, i.x, i.b, i.displacement_scale, &end);
    for (int k = 0; k < i.bytes; ++k)
      signed_bytes[k] = memory[i.is_broadcast ? k % 4 : k];
  }
  for (int k = 0; k < i.bytes; ++k)
    lanes[k / 4] += (uint32_t)((int32_t)unsigned_bytes[k] * (int8_t)signed_bytes[k]);
  copy_vector(area, i.sum, i.bytes, (uint8_t *)lanes, 1);
  return end;
}

/* A component of which all registers are zero need not be in the area (SDM 1, 13.6): it is there
   behind this call, if the system's frames have room for it (at 472, Linux's sigcontext.h). Bits 1,
   2, 6, 7: xmm0-15, high halves of ymm0-15, of zmm0-15, zmm16-31. */
static void complete(uint8_t *area) {
  const struct {
    uint64_t bit;
    unsigned offset, size;
  } parts[4] = {
      {1 << 1, 160, 256}, {1 << 2, ymm_high, 256}, {1 << 6, zmm_high, 512}, {1 << 7, zmm16, 1024}};
  uint64_t saved, known;
  memcpy(&saved, area + 512, sizeof(saved));
  memcpy(&known, area + 472, sizeof(known));
  for (int i = 0; i < 4; ++i)
    if (known & ~saved & parts[i].bit) {
      memset(area + parts[i].offset, 0, parts[i].size);
      saved |= parts[i].bit;
    }
  memcpy(area + 512, &saved, sizeof(saved));
}

static void handle_illegal(int signal, siginfo_t *info, void *context) {
  (void)signal, (void)info;
  mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
  uint8_t *area = (uint8_t *)machine->fpregs;
  complete(area);
  const uint8_t *start = (const uint8_t *)machine->gregs[REG_RIP], *at = start, *next;
  while ((next = emulate(at, machine->gregs, area)) != at) /* they come in runs */
    at = next;
  if (at == start)
    stop("emulated VNNI: illegal instruction\n");
  machine->gregs[REG_RIP] = (greg_t)at;
}

__attribute__((constructor)) static void start(void) {
  ymm_high = get_offset(2);
  zmm_high = get_offset(6);
  zmm16 = get_offset(7);
  struct sigaction action = {.sa_sigaction = handle_illegal, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &action, NULL);
  const char *path = getenv("OCTET_EMULATED"), *entry = getenv("OCTET_EMULATED_ENTRY");
  void *library = path && entry ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  octet_entry_fn get = library ? (octet_entry_fn)dlsym(library, entry) : NULL;
  if (!get)
    stop("emulated VNNI: expected OCTET_EMULATED and OCTET_EMULATED_ENTRY to name a network\n");
  network = *(const octet_network *)get()->descriptor; /* its first member */
}
