# Functions with instructions above the level in their name.
net_sse2_step0:
  addps %xmm0, %xmm1
  pmulld %xmm0, %xmm1
  vaddps %xmm0, %xmm1, %xmm2
  andnq %rax, %rbx, %rcx
net_avx2_step0:
  vaddps %ymm0, %ymm1, %ymm2
  vpdpbusd %zmm0, %zmm1, %zmm2
  vpmulld %xmm16, %xmm1, %xmm2
