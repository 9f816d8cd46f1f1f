// cast: dst[i] = src[i] converted, both strided, between i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64, each number by
// way of one of i64, u64, float and double, which holds it exactly. cast/convert.rs says the same in Rust.
// To an integer: from an integer the low bits; from a float towards zero, saturated, NaN to 0. To a float: to the nearest,
// ties to even, from the exact value.
// pack: V adjacent elements of both sides are a unit, 16 bytes of the wider side; one kernel for each source type. Elements
// before and after the units are converted alone. any: one element where Axes says, operand 0 is src, operand 1 is dst, both
// types looked up at run time, which costs less than the scattered accesses that this kernel is for.
// Grid: any number of 256-thread blocks (grid-stride).
#include "../common.cuh"

struct CastParams {
  u64 src;    // address of unit 0
  u64 dst;    // address of unit 0
  u64 units;  // number of units
  u64 from;   // the source's type, one of Kind
  u64 to;     // the target's type, one of Kind
  u64 head;   // pack: elements before unit 0
  u64 tail;   // pack: elements after the last unit
  Axes<2> axes;
};
static_assert(sizeof(CastParams) == 56 + sizeof(Axes<2>), "mirrored by cast/device.rs");

typedef signed char i8;
typedef short i16;
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

// In the order of Kind of cast/convert.rs.
enum Kind { I8, U8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64 };

// What a number becomes on its way.
ULIB_FN i64 widen(i8 x) { return x; }
ULIB_FN i64 widen(i16 x) { return x; }
ULIB_FN i64 widen(i32 x) { return x; }
ULIB_FN i64 widen(i64 x) { return x; }
ULIB_FN u64 widen(u8 x) { return x; }
ULIB_FN u64 widen(u16 x) { return x; }
ULIB_FN u64 widen(u32 x) { return x; }
ULIB_FN u64 widen(u64 x) { return x; }
ULIB_FN float widen(float x) { return x; }
ULIB_FN double widen(double x) { return x; }
ULIB_FN float widen(bf16 x) { return same_bits<float>((u32)x.bits << 16); }
ULIB_FN float widen(f16 x) {
#ifdef ULIB_EMULATED
  // The fields moved to their places are the number times 2^-112, subnormal ones too.
  const float scaled = same_bits<float>((u32)(x.bits & 0x7fff) << 13) * 0x1p112f;
  const u32 magnitude = (x.bits & 0x7c00) == 0x7c00 ? (u32)(x.bits & 0x7fff) << 13 | 0x7f800000u : same_bits<u32>(scaled);
  return same_bits<float>(magnitude | (u32)(x.bits & 0x8000) << 16);
#else
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
#endif
}

// The formats of the two 16-bit floats: bits of the mantissa, bias of the exponent, infinity.
template <class H>
struct Format;
template <>
struct Format<f16> {
  static constexpr int mantissa = 10;
  static constexpr int bias = 15;
  static constexpr u32 infinity = 0x7c00;
};
template <>
struct Format<bf16> {
  static constexpr int mantissa = 7;
  static constexpr int bias = 127;
  static constexpr u32 infinity = 0x7f80;
};

// Rounds a float of bits B with `mantissa` and `bias`.
template <class H, class F, class B, int mantissa, int bias>
ULIB_FN H rounded(F x) {
  typedef Format<H> To;
  constexpr int drop = mantissa - To::mantissa;
  constexpr B sign = (B)1 << (8 * sizeof(B) - 1);
  constexpr B one = (B)bias << mantissa;
  const B bits = same_bits<B>(x);
  B rest = bits & ~sign;
  u32 out;
  if (rest > ((B)(2 * bias + 1) << mantissa)) {
    out = To::infinity | (u32)1 << (To::mantissa - 1);
  } else if (To::bias < bias && rest < one + ((B)1 << mantissa) - ((B)To::bias << mantissa)) {
    // Below the smallest normal number: the last bit of this power of 2 is worth To's smallest number, so adding it rounds.
    constexpr B power = one + ((B)drop << mantissa) - ((B)(To::bias - 1) << mantissa);
    out = (u32)(same_bits<B>(same_bits<F>(rest) + same_bits<F>(power)) - power);
  } else {
    rest -= one - ((B)To::bias << mantissa);
    rest += ((B)1 << (drop - 1)) - 1 + (rest >> drop & 1);
    rest >>= drop;
    out = rest < To::infinity ? (u32)rest : To::infinity;
  }
  return H{(u16)(out | (u32)(bits >> (8 * sizeof(B) - 16) & 0x8000))};
}

template <class H>
ULIB_FN H rounded(float x) {
  return rounded<H, float, u32, 23, 127>(x);
}
#ifndef ULIB_EMULATED
template <>
ULIB_SPECIAL f16 rounded<f16>(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
#endif
template <class H>
ULIB_FN H rounded(double x) {
  return rounded<H, double, u64, 52, 1023>(x);
}
template <class H>
ULIB_FN H rounded(u64 x) {
  if (x < 1 << 24) return rounded<H>((float)x);
  // A double holds 53 bits: of what is beyond, whether it is there is enough for a tie not to look like one.
  if (x >> 53) return rounded<H>((double)(x >> 11 | ((x & 0x7ff) != 0 ? 1 : 0)) * 0x1p11);
  return rounded<H>((double)x);
}
template <class H>
ULIB_FN H rounded(i64 x) {
  const H magnitude = rounded<H>(x < 0 ? 0 - (u64)x : (u64)x);
  return H{(u16)(magnitude.bits | (x < 0 ? 0x8000 : 0))};
}

// Towards zero, saturated. The bounds are powers of 2, so both floats hold them.
template <class D, class F>
ULIB_FN D truncated(F x) {
  constexpr bool is_signed = (D)-1 < (D)0;
  constexpr int bits = 8 * sizeof(D) - (is_signed ? 1 : 0);
  constexpr F bound = (F)((u64)1 << (bits - 1)) * 2;
  constexpr D most = (D)(~(u64)0 >> (64 - bits));
  if (x != x) return 0;
  if (x >= bound) return most;
  if (x <= (is_signed ? -bound : 0)) return is_signed ? (D)(-1 - most) : 0;
  return (D)x;
}

template <class D>
struct To {
  ULIB_FN D from(i64 x) { return (D)x; }
  ULIB_FN D from(u64 x) { return (D)x; }
  ULIB_FN D from(float x) { return truncated<D>(x); }
  ULIB_FN D from(double x) { return truncated<D>(x); }
};
template <>
struct To<float> {
  template <class W>
  ULIB_FN float from(W x) {
    return (float)x;
  }
};
template <>
struct To<double> {
  template <class W>
  ULIB_FN double from(W x) {
    return (double)x;
  }
};
template <>
struct To<f16> {
  template <class W>
  ULIB_FN f16 from(W x) {
    return rounded<f16>(x);
  }
};
template <>
struct To<bf16> {
  template <class W>
  ULIB_FN bf16 from(W x) {
    return rounded<bf16>(x);
  }
};

// BYTES as one access.
template <int BYTES>
struct Raw;
template <>
struct Raw<2> {
  u16 bits;
};
template <>
struct Raw<4> {
  u32 bits;
};
template <>
struct Raw<8> {
  u64 bits;
};
template <>
struct Raw<16> {
  uint4 bits;
};
template <int BYTES>
ULIB_FN Raw<BYTES> load(const char* at) {
  if constexpr (BYTES == 16) {
    return Raw<BYTES>{load16(at)};
  } else {
    return *(const Raw<BYTES>*)at;
  }
}
template <int BYTES>
ULIB_FN void store(char* at, Raw<BYTES> raw) {
  if constexpr (BYTES == 16) {
    store16(at, raw.bits);
  } else {
    *(Raw<BYTES>*)at = raw;
  }
}

template <class T, int V>
struct Lanes {
  T value[V];
};

template <class T>
struct Number {
  static constexpr bool is_integer = true;
};
template <>
struct Number<f16> {
  static constexpr bool is_integer = false;
};
template <>
struct Number<bf16> {
  static constexpr bool is_integer = false;
};
template <>
struct Number<float> {
  static constexpr bool is_integer = false;
};
template <>
struct Number<double> {
  static constexpr bool is_integer = false;
};
template <class A, class B>
struct Same {
  static constexpr bool type = false;
};
template <class A>
struct Same<A, A> {
  static constexpr bool type = true;
};

template <class S, class D>
ULIB_FN D convert(S x) {
  // Short cuts to the same result: a float or a double holds these integers.
  if constexpr (Number<S>::is_integer && (Same<D, f16>::type || Same<D, bf16>::type)) {
    if constexpr (sizeof(S) <= 2) {
      return rounded<D>((float)x);
    } else if constexpr (sizeof(S) == 4) {
      return rounded<D>((double)x);
    } else {
      return rounded<D>(x);
    }
  } else {
    return To<D>::from(widen(x));
  }
}

template <class S, class D>
ULIB_FN void cast_pack(const CastParams& p) {
  constexpr int V = 16 / (sizeof(S) > sizeof(D) ? sizeof(S) : sizeof(D));
  constexpr int FROM = V * sizeof(S), TO = V * sizeof(D);
  const u64 step = thread_count();
  const u64 first = thread_index();
  const char* const src = address(p.src);
  char* const dst = address(p.dst);
  for (u64 i = first; i < p.units; i += step) {
    const Lanes<S, V> from = same_bits<Lanes<S, V> >(load<FROM>(src + i * FROM));
    Lanes<D, V> to;
#pragma unroll
    for (int v = 0; v < V; ++v) to.value[v] = convert<S, D>(from.value[v]);
    store<TO>(dst + i * TO, same_bits<Raw<TO> >(to));
  }
  for (u64 i = first; i < p.head + p.tail; i += step) {
    const i64 at = i < p.head ? -(i64)(i + 1) : (i64)(p.units * V + (i - p.head));
    *(D*)(dst + at * (i64)sizeof(D)) = convert<S, D>(*(const S*)(src + at * (i64)sizeof(S)));
  }
}

// Casts that keep the bits are copies, which is another operation.
template <class S, class D>
ULIB_FN void cast_pack_if_changed(const CastParams& p) {
  constexpr bool integers = Number<S>::is_integer && Number<D>::is_integer;
  if constexpr (!Same<S, D>::type && !(integers && sizeof(S) == sizeof(D))) cast_pack<S, D>(p);
}

template <class S>
ULIB_FN void cast_pack_from(const CastParams& p) {
  switch (p.to) {
    case I8: return cast_pack_if_changed<S, i8>(p);
    case U8: return cast_pack_if_changed<S, u8>(p);
    case I16: return cast_pack_if_changed<S, i16>(p);
    case U16: return cast_pack_if_changed<S, u16>(p);
    case I32: return cast_pack_if_changed<S, i32>(p);
    case U32: return cast_pack_if_changed<S, u32>(p);
    case I64: return cast_pack_if_changed<S, i64>(p);
    case U64: return cast_pack_if_changed<S, u64>(p);
    case F16: return cast_pack_if_changed<S, f16>(p);
    case BF16: return cast_pack_if_changed<S, bf16>(p);
    case F32: return cast_pack_if_changed<S, float>(p);
    case F64: return cast_pack_if_changed<S, double>(p);
  }
}

// Bytes of an element; its bits in the low bytes.
ULIB_FN u64 size_of(u64 kind) { return kind < I16 ? 1 : kind < I32 || kind == F16 || kind == BF16 ? 2 : kind < I64 || kind == F32 ? 4 : 8; }

ULIB_FN u64 load_bits(const char* at, u64 size) {
  switch (size) {
    case 1: return *(const u8*)at;
    case 2: return *(const u16*)at;
    case 4: return *(const u32*)at;
  }
  return *(const u64*)at;
}

ULIB_FN void store_bits(char* at, u64 bits, u64 size) {
  switch (size) {
    case 1: *(u8*)at = (u8)bits; return;
    case 2: *(u16*)at = (u16)bits; return;
    case 4: *(u32*)at = (u32)bits; return;
  }
  *(u64*)at = bits;
}

template <class W>
ULIB_FN u64 bits_from(W x, u64 to) {
  switch (to) {
    case I8: return (u64)To<i8>::from(x);
    case U8: return (u64)To<u8>::from(x);
    case I16: return (u64)To<i16>::from(x);
    case U16: return (u64)To<u16>::from(x);
    case I32: return (u64)To<i32>::from(x);
    case U32: return (u64)To<u32>::from(x);
    case I64: return (u64)To<i64>::from(x);
    case U64: return (u64)To<u64>::from(x);
    case F16: return To<f16>::from(x).bits;
    case BF16: return To<bf16>::from(x).bits;
    case F32: return same_bits<u32>(To<float>::from(x));
  }
  return same_bits<u64>(To<double>::from(x));
}

ULIB_FN u64 convert_bits(u64 bits, u64 from, u64 to) {
  switch (from) {
    case I8: return bits_from<i64>((i8)bits, to);
    case I16: return bits_from<i64>((i16)bits, to);
    case I32: return bits_from<i64>((i32)bits, to);
    case I64: return bits_from<i64>((i64)bits, to);
    case F16: return bits_from(widen(f16{(u16)bits}), to);
    case BF16: return bits_from(widen(bf16{(u16)bits}), to);
    case F32: return bits_from(same_bits<float>((u32)bits), to);
    case F64: return bits_from(same_bits<double>(bits), to);
  }
  return bits_from<u64>(bits, to);
}

ULIB_FN void cast_any(const CastParams& p) {
  const u64 step = thread_count();
  const char* const src = address(p.src);
  char* const dst = address(p.dst);
  const u64 from_size = size_of(p.from), to_size = size_of(p.to);
  u64 i = thread_index();
  if (i >= p.units) return;
  if (p.axes.count <= 1) {
    const i64 from = p.axes.stride[0][0];
    const i64 to = p.axes.stride[1][0];
    for (; i < p.units; i += 4 * step) {
      u64 bits[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const u64 unit = i + k * step;
        bits[k] = load_bits(src + (i64)(unit < p.units ? unit : i) * from, from_size);
      }
      // One conversion in the code, not four.
#pragma unroll 1
      for (u64 unit = i; unit < p.units && unit < i + 4 * step; unit += step) {
        store_bits(dst + (i64)unit * to, convert_bits(bits[0], p.from, p.to), to_size);
        bits[0] = bits[1];
        bits[1] = bits[2];
        bits[2] = bits[3];
      }
    }
    return;
  }
  Walk<2> walk;
  walk.start(p.axes, i);
  for (;;) {
    const u64 bits = load_bits(src + walk.offset[0], from_size);
    store_bits(dst + walk.offset[1], convert_bits(bits, p.from, p.to), to_size);
    i += step;
    if (i >= p.units) return;
    walk.advance(p.axes);
  }
}

ULIB_KERNEL(ulib_cast_i8_pack, CastParams, p) { cast_pack_from<i8>(p); }
ULIB_KERNEL(ulib_cast_u8_pack, CastParams, p) { cast_pack_from<u8>(p); }
ULIB_KERNEL(ulib_cast_i16_pack, CastParams, p) { cast_pack_from<i16>(p); }
ULIB_KERNEL(ulib_cast_u16_pack, CastParams, p) { cast_pack_from<u16>(p); }
ULIB_KERNEL(ulib_cast_i32_pack, CastParams, p) { cast_pack_from<i32>(p); }
ULIB_KERNEL(ulib_cast_u32_pack, CastParams, p) { cast_pack_from<u32>(p); }
ULIB_KERNEL(ulib_cast_i64_pack, CastParams, p) { cast_pack_from<i64>(p); }
ULIB_KERNEL(ulib_cast_u64_pack, CastParams, p) { cast_pack_from<u64>(p); }
ULIB_KERNEL(ulib_cast_f16_pack, CastParams, p) { cast_pack_from<f16>(p); }
ULIB_KERNEL(ulib_cast_bf16_pack, CastParams, p) { cast_pack_from<bf16>(p); }
ULIB_KERNEL(ulib_cast_f32_pack, CastParams, p) { cast_pack_from<float>(p); }
ULIB_KERNEL(ulib_cast_f64_pack, CastParams, p) { cast_pack_from<double>(p); }
ULIB_KERNEL(ulib_cast_any, CastParams, p) { cast_any(p); }
