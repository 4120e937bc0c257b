/*===- pool.h - threads that share the chunks of a step --------------------===*\
 *
 * Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*\
 *
 * One thread publishes a step cut into chunks, all threads claim chunks, and the publisher waits
 * until all chunks are done. It does not wait for workers: one that lost its core holds nobody up
 * unless it is inside a chunk.
\*===----------------------------------------------------------------------===*/

#ifndef OCTET_RUNTIME_POOL_H
#define OCTET_RUNTIME_POOL_H

#include "cpu.h"
#include "octet/Runtime/octet.h"
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  MAX_THREADS = 256,
  /* More chunks than threads, so that a thread that started late leaves its share to the others. */
  CHUNKS_PER_THREAD = 4,
  /* Some 50 to 200 microseconds: longer than the pause between two steps or two runs in a loop. */
  SPINS_BEFORE_SLEEP = 4096,
};

/* A kernel, of any number of arguments, and a function that calls it with that many arguments from
 * an array and with the part to compute. */
typedef void (*kernel_fn)(void);
typedef void (*call_fn)(kernel_fn kernel, const int64_t *arguments, int64_t begin, int64_t end);

/* A step as it is called. */
typedef struct ready_step {
  call_fn call;
  kernel_fn kernel;
  const int64_t *arguments;
  int64_t range;
} ready_step;

/* Fields on lines of their own are written by several threads at a time. */
typedef struct pool {
  /* Number of the published step << 32 | chunks not claimed yet. A chunk is claimed by decrementing
     it; the number keeps a slow worker from claiming a chunk of a step other than the one whose
     fields it read. */
  _Alignas(64) _Atomic uint64_t ticket;
  _Alignas(64) _Atomic uint32_t completed;
  _Alignas(64) _Atomic uint32_t sleepers;
  /* The futex of sleeping workers. */
  _Atomic uint32_t wakeups;
  _Atomic int stop;
  /* The published step. Atomic because a worker may read them while the next step is published; it
   * then fails to claim. */
  _Alignas(64) _Atomic(const ready_step *) step;
  _Atomic uint32_t chunks;
  uint32_t num_workers;
  pid_t process; /* that has the workers: a forked child has none */
  pthread_t workers[];
} pool;

/* Runs chunk number `chunk`: the chunks cut [0, range) into parts that differ by at most one. */
static void run_chunk(const ready_step *step, int64_t chunk, int64_t chunks) {
  int64_t size = step->range / chunks, larger = step->range % chunks;
  int64_t begin = chunk * size + (chunk < larger ? chunk : larger);
  step->call(step->kernel, step->arguments, begin, begin + size + (chunk < larger));
}

static void run_chunks(pool *p) {
  uint64_t ticket = atomic_load_explicit(&p->ticket, memory_order_acquire);
  while ((uint32_t)ticket) {
    const ready_step *step = atomic_load_explicit(&p->step, memory_order_relaxed);
    uint32_t chunks = atomic_load_explicit(&p->chunks, memory_order_relaxed);
    /* If this succeeds, the ticket was not exhausted since it was loaded, so the fields belong to
     * it. */
    if (!atomic_compare_exchange_weak_explicit(&p->ticket, &ticket, ticket - 1,
                                               memory_order_acq_rel, memory_order_acquire))
      continue;
    run_chunk(step, chunks - (uint32_t)ticket, chunks);
    atomic_fetch_add_explicit(&p->completed, 1, memory_order_release);
    ticket = atomic_load_explicit(&p->ticket, memory_order_acquire);
  }
}

static void wake_workers(pool *p) {
  atomic_fetch_add(&p->wakeups, 1);
  syscall(SYS_futex, &p->wakeups, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Sequentially consistent on both sides: either the publisher sees the sleeper or the sleeper sees
 * the ticket. */
static void sleep_until_woken(pool *p) {
  atomic_fetch_add(&p->sleepers, 1);
  uint32_t wakeups = atomic_load(&p->wakeups);
  if (!(uint32_t)atomic_load(&p->ticket) && !atomic_load(&p->stop))
    syscall(SYS_futex, &p->wakeups, FUTEX_WAIT_PRIVATE, wakeups, NULL, NULL, 0);
  atomic_fetch_sub(&p->sleepers, 1);
}

static void *work(void *argument) {
  pool *p = argument;
  set_fp_control(DEFAULT_FP_CONTROL);
  for (int spins = 0; !atomic_load_explicit(&p->stop, memory_order_relaxed);) {
    if ((uint32_t)atomic_load_explicit(&p->ticket, memory_order_acquire)) {
      run_chunks(p);
      spins = 0;
    } else if (++spins < SPINS_BEFORE_SLEEP) {
      relax();
    } else {
      sleep_until_woken(p);
      spins = 0;
    }
  }
  return NULL;
}

static void run_parallel(pool *p, const ready_step *step) {
  int64_t chunks = (int64_t)(p->num_workers + 1) * CHUNKS_PER_THREAD;
  if (chunks > step->range)
    chunks = step->range;
  atomic_store_explicit(&p->step, step, memory_order_relaxed);
  atomic_store_explicit(&p->chunks, (uint32_t)chunks, memory_order_relaxed);
  atomic_store_explicit(&p->completed, 0, memory_order_relaxed);
  uint64_t number = (atomic_load_explicit(&p->ticket, memory_order_relaxed) >> 32) + 1;
  atomic_store(&p->ticket, number << 32 | (uint64_t)chunks);
  if (atomic_load(&p->sleepers))
    wake_workers(p);
  run_chunks(p);
  for (int spins = 0;
       atomic_load_explicit(&p->completed, memory_order_acquire) != (uint32_t)chunks;)
    if (++spins < SPINS_BEFORE_SLEEP)
      relax();
    else
      sched_yield();
}

static void destroy_pool(pool *p) {
  if (!p)
    return;
  atomic_store(&p->stop, 1);
  wake_workers(p);
  for (uint32_t i = 0; i < p->num_workers && p->process == getpid(); ++i)
    pthread_join(p->workers[i], NULL);
  free(p);
}

/* Creates a pool with workers beside the calling thread; null if a thread cannot be created.
 * Workers block all signals. */
static pool *create_pool(uint32_t num_workers) {
  pool *p;
  size_t bytes = sizeof(pool) + num_workers * sizeof(pthread_t);
  if (posix_memalign((void **)&p, 64, bytes))
    return NULL;
  memset(p, 0, bytes);
  p->process = getpid();
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (p->num_workers < num_workers &&
         !pthread_create(&p->workers[p->num_workers], NULL, work, p))
    ++p->num_workers;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (p->num_workers == num_workers)
    return p;
  destroy_pool(p);
  return NULL;
}

#endif
