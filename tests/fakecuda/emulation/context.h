// A stack of its own to run on, and the switch between two of them. The C library's own switch asks the kernel for the
// signal mask each time, which is most of an emulated kernel's time; on x86-64 ours saves what a call must keep, no more.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__linux__)

extern "C" void ulib_emulation_switch(void** from, void* to);

asm(R"(
.text
.p2align 4
.globl ulib_emulation_switch
.hidden ulib_emulation_switch
.type ulib_emulation_switch, @function
ulib_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size ulib_emulation_switch, .-ulib_emulation_switch
)");

struct Context {
  void* stack_pointer = nullptr;

  // The next switch here calls `entry`, which never returns, on the given stack.
  void start(char* stack, size_t bytes, void (*entry)()) {
    const uintptr_t top = (reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t(15);
    void** slots = reinterpret_cast<void**>(top) - 8;
    for (int i = 0; i < 8; ++i) slots[i] = nullptr;  // six registers, the address to return to, an end for backtraces
    slots[6] = reinterpret_cast<void*>(entry);
    stack_pointer = slots;
  }

  void switch_to(Context& other) { ulib_emulation_switch(&stack_pointer, other.stack_pointer); }
};

#else

#include <ucontext.h>

struct Context {
  ucontext_t context;

  void start(char* stack, size_t bytes, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = bytes;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
  }

  void switch_to(Context& other) { swapcontext(&context, &other.context); }
};

#endif
