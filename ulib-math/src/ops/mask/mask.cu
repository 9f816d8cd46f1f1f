// mask: out = a where b is not zero, else the number outside. The numbers a are only moved, so their size is all that
// matters; b is a byte, or a number of the same size.
#include "../elementwise.cuh"

template <class N, class M>
struct Mask {
  typedef N T;
  typedef M B;
  enum { INPUTS = 2, HEAVY = 0 };
  N outside;
  __device__ __forceinline__ explicit Mask(const u64* extra) : outside((N)extra[0]) {}
  __device__ __forceinline__ N operator()(N a, M b, N) const { return b != 0 ? a : outside; }
};

typedef Mask<u32, u8> Mask4By1;
typedef Mask<u32, u32> Mask4ByInteger;
typedef Mask<u32, float> Mask4ByFloat;
typedef Mask<u64, u8> Mask8By1;
typedef Mask<u64, u64> Mask8ByInteger;
typedef Mask<u64, double> Mask8ByFloat;

ULIB_ELEMENTWISE(mask_by_bytes, u32, Mask4By1)
ULIB_ELEMENTWISE(mask_by_bytes, u64, Mask8By1)
ULIB_ELEMENTWISE(mask, f32, Mask4ByFloat)
ULIB_ELEMENTWISE(mask, f64, Mask8ByFloat)
ULIB_ELEMENTWISE(mask, u32, Mask4ByInteger)
ULIB_ELEMENTWISE(mask, u64, Mask8ByInteger)
