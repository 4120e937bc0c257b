// A function with an instruction above the level in its name.
net_neon_step0:
  add v0.4s, v1.4s, v2.4s
  sdot v0.4s, v1.16b, v2.16b
net_dotprod_step0:
  sdot v0.4s, v1.16b, v2.16b
