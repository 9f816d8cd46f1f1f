// Sizes and differences of pointers.
#pragma once
typedef decltype(static_cast<char *>(0) - static_cast<char *>(0)) ptrdiff_t;
#if !defined(NULL)
#define NULL 0
#endif
#if !defined(offsetof)
#define offsetof(type, member) ((size_t)(&((type *)16)->member) - 16)
#endif
namespace std {
using ::size_t;
using ::ptrdiff_t;
}
