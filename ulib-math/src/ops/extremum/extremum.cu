// min and max: out[o] = the smallest or largest element of output o; argmin and argmax: where the first such is, in the C order
// of the reduced axes. By the tree of reduce.cuh, although the order makes no difference here.
// Elements are words, which become keys: the wanted element is the one with the smallest key. With the word's bits x,
//   key = x ^ ((x >> 31 as signed) & turn) ^ order, and 0 for a NaN: magnitudes of more than nan_above, if there are such.
// fold[0 .. 3]: turn (what a negative number of sign and magnitude has turned over), order (the sign where there is one, all
// of it turned over for the largest), nan_above, and the bits of a NaN, or 0.
// Places: while a line is walked they are the numbers of its elements, and ascend; over axes they are operand 1.
#include "../reduce.cuh"

ULIB_FN u32 sign(u32 x) { return (u32)((i32)x >> 31); }
ULIB_FN u64 sign(u64 x) { return (u64)((i64)x >> 63); }

template <class W>
struct Keys {
  W turn;
  W order;
  W nan_above;
  W nan;
  __device__ __forceinline__ explicit Keys(const u64* fold)
      : turn((W)fold[0]), order((W)fold[1]), nan_above((W)fold[2]), nan((W)fold[3]) {}
  __device__ __forceinline__ W key(W x) const {
    const W key = x ^ (sign(x) & turn) ^ order;
    return (x & ((W)~(W)0 >> 1)) > nan_above ? 0 : key;
  }
  __device__ __forceinline__ W value(W key) const {
    if (key == 0 && nan != 0) return nan;
    const W x = key ^ order;
    // Turned over when the number is of sign and magnitude: `order` has the sign then.
    const W turned = x ^ (sign(x) & turn);
    return turned;
  }
};

template <class W>
struct Extreme {
  typedef W Lane;
  typedef u64 Acc;
  typedef W Out;
  Keys<W> keys;
  __device__ __forceinline__ explicit Extreme(const u64* fold) : keys(fold) {}
  __device__ __forceinline__ u64 empty() const { return ~0ull; }
  __device__ __forceinline__ W open(W first) const { return keys.key(first); }
  __device__ __forceinline__ void step(W& lane, W x, u32) const {
    const W key = keys.key(x);
    lane = key < lane ? key : lane;
  }
  __device__ __forceinline__ u64 close(W lane, u32, u64) const { return lane; }
  __device__ __forceinline__ u64 join(u64 left, u64 right) const { return right < left ? right : left; }
  __device__ __forceinline__ W finish(u64 key) const { return keys.value((W)key); }
};

struct Found {
  u64 key;
  u64 place;
};

ULIB_FN Found nothing() {
  Found none;
  none.key = ~0ull;
  none.place = ~0ull;
  return none;
}

ULIB_FN Found first_of(const Found& a, const Found& b) {
  const bool other = b.key < a.key || (b.key == a.key && b.place < a.place);
  return other ? b : a;
}

// Along a line: of equal keys in a lane the first one stays.
template <class W>
struct Numbered {
  W key;
  u32 number;
};

template <class W>
struct PlaceOnLine {
  typedef Numbered<W> Lane;
  typedef Found Acc;
  typedef u64 Out;
  Keys<W> keys;
  __device__ __forceinline__ explicit PlaceOnLine(const u64* fold) : keys(fold) {}
  __device__ __forceinline__ Found empty() const { return nothing(); }
  __device__ __forceinline__ Lane open(W first) const {
    Lane lane;
    lane.key = keys.key(first);
    lane.number = 0;
    return lane;
  }
  __device__ __forceinline__ void step(Lane& lane, W x, u32 j) const {
    const W key = keys.key(x);
    if (key < lane.key) {
      lane.key = key;
      lane.number = j;
    }
  }
  __device__ __forceinline__ Found close(const Lane& lane, u32, u64 first) const {
    Found found;
    found.key = lane.key;
    found.place = first + (u64)lane.number * ULIB_LANES;
    return found;
  }
  __device__ __forceinline__ Found join(const Found& a, const Found& b) const { return first_of(a, b); }
  __device__ __forceinline__ u64 finish(const Found& found) const { return found.place; }
};

// Over axes: every element has its place.
template <class W>
struct Placed {
  W value;
  u64 place;
};

template <class W>
struct OneAndPlace {
  enum { LANES = 1, OPERANDS = 2 };
  typedef Placed<W> Item;
  Item item;
  __device__ __forceinline__ void load(const At<2>& a) { item = single(a, 0); }
  __device__ __forceinline__ Item get(int) const { return item; }
  static __device__ __forceinline__ Item single(const At<2>& a, int) {
    Item item;
    item.value = *(const W*)a.at[0];
    item.place = (u64)a.at[1];
    return item;
  }
};

template <class W>
struct PlaceOverAxes {
  typedef Placed<W> Lane;  // of the key
  typedef Found Acc;
  typedef u64 Out;
  Keys<W> keys;
  __device__ __forceinline__ explicit PlaceOverAxes(const u64* fold) : keys(fold) {}
  __device__ __forceinline__ Found empty() const { return nothing(); }
  __device__ __forceinline__ Lane open(const Placed<W>& first) const {
    Lane lane;
    lane.value = keys.key(first.value);
    lane.place = first.place;
    return lane;
  }
  __device__ __forceinline__ void step(Lane& lane, const Placed<W>& item, u32) const {
    const W key = keys.key(item.value);
    if (key < lane.value || (key == lane.value && item.place < lane.place)) {
      lane.value = key;
      lane.place = item.place;
    }
  }
  __device__ __forceinline__ Found close(const Lane& lane, u32, u64) const {
    Found found;
    found.key = lane.value;
    found.place = lane.place;
    return found;
  }
  __device__ __forceinline__ Found join(const Found& a, const Found& b) const { return first_of(a, b); }
  __device__ __forceinline__ u64 finish(const Found& found) const { return found.place; }
};

typedef Extreme<u32> ExtremeU32;
typedef Extreme<u64> ExtremeU64;
typedef PlaceOnLine<u64> PlaceU64;

ULIB_REDUCE_ONE(extremum, u32, One<u32>, ExtremeU32)
ULIB_REDUCE_ONE(extremum, u64, One<u64>, ExtremeU64)
ULIB_REDUCE(extremum, rows, u32_pack, line, Pack<u32>, ExtremeU32, false)
ULIB_REDUCE(extremum, rows, u64_pack, line, Pack<u64>, ExtremeU64, false)
ULIB_REDUCE_JOIN(extremum, u32, ExtremeU32)
ULIB_REDUCE_JOIN(extremum, u64, ExtremeU64)

#define ULIB_PLACE_ONE(number, W)                                                                       \
  ULIB_REDUCE(extremum_place, rows, number##_one, line, One<W>, PlaceOnLine<W>, false)                 \
  ULIB_REDUCE(extremum_place, rows, number##_one, axes, OneAndPlace<W>, PlaceOverAxes<W>, true)        \
  ULIB_REDUCE(extremum_place, columns, number##_one, line, One<W>, PlaceOnLine<W>, false)              \
  ULIB_REDUCE(extremum_place, columns, number##_one, axes, OneAndPlace<W>, PlaceOverAxes<W>, true)

ULIB_PLACE_ONE(u32, u32)
ULIB_PLACE_ONE(u64, u64)
ULIB_REDUCE(extremum_place, rows, u32_pack, line, Pack<u32>, PlaceOnLine<u32>, false)
ULIB_REDUCE(extremum_place, rows, u64_pack, line, Pack<u64>, PlaceOnLine<u64>, false)
ULIB_REDUCE_JOIN(extremum_place, found, PlaceU64)
