// The table of emulated kernels, filled by the static constructors of the kernel files, read through two C functions.
#include <vector>

#include "shim.h"

namespace {
std::vector<ulib_emulation::Entry>& table() {
  static std::vector<ulib_emulation::Entry> entries;
  return entries;
}
}  // namespace

void ulib_emulation::add(const Entry& entry) { table().push_back(entry); }

// Defined by the build script's generated file, which names every kernel file: referring to them keeps the linker from
// dropping the objects whose only content is their constructors.
extern "C" int ulib_emulation_keep();

extern "C" size_t fakecuda_emulated_count() { return ulib_emulation_keep() < 0 ? 0 : table().size(); }

extern "C" int fakecuda_emulated_get(size_t i, const char** name,
                                     int (**run)(void** args, const uint32_t grid[3], const uint32_t block[3], uint32_t shared),
                                     size_t* param_bytes) {
  if (i >= table().size()) return ulib_emulation::INVALID_VALUE;
  *name = table()[i].name;
  *run = table()[i].run;
  *param_bytes = table()[i].param_bytes;
  return ulib_emulation::SUCCESS;
}
