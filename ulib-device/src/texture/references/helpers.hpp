// Textures and surfaces of numbers that the hardware does not know: float64 and complex, read as two or four integers.
//
// `texture<fp_tex_double, 2> tex;` with `fp_tex2D(tex, x, y)` gives a double, and so on; coordinates and layers as in the functions
// without `fp_`. Along x surfaces count in elements here, not in bytes.
#ifndef ULIB_TEXTURE_HELPERS
#define ULIB_TEXTURE_HELPERS

#include <pycuda-complex.hpp>
#include <ulib/texture_references.cuh>

typedef float fp_tex_float;
typedef int2 fp_tex_double;
typedef uint2 fp_tex_cfloat;
typedef int4 fp_tex_cdouble;

extern "C++" {

static __device__ __forceinline__ float ulib_number(float from) { return from; }

static __device__ __forceinline__ double ulib_number(int2 from) { return __hiloint2double(from.y, from.x); }

static __device__ __forceinline__ pycuda::complex<float> ulib_number(uint2 from)
{
    return pycuda::complex<float>(__uint_as_float(from.x), __uint_as_float(from.y));
}

static __device__ __forceinline__ pycuda::complex<double> ulib_number(int4 from)
{
    return pycuda::complex<double>(__hiloint2double(from.y, from.x), __hiloint2double(from.w, from.z));
}

template <typename T> struct ulib_number_of;
template <> struct ulib_number_of<float> { typedef float type; };
template <> struct ulib_number_of<int2> { typedef double type; };
template <> struct ulib_number_of<uint2> { typedef pycuda::complex<float> type; };
template <> struct ulib_number_of<int4> { typedef pycuda::complex<double> type; };

static __device__ __forceinline__ float ulib_texel(float from) { return from; }

static __device__ __forceinline__ int2 ulib_texel(double from)
{
    return make_int2(__double2loint(from), __double2hiint(from));
}

static __device__ __forceinline__ uint2 ulib_texel(pycuda::complex<float> from)
{
    return make_uint2(__float_as_uint(from.real()), __float_as_uint(from.imag()));
}

static __device__ __forceinline__ int4 ulib_texel(pycuda::complex<double> from)
{
    return make_int4(__double2loint(from.real()), __double2hiint(from.real()), __double2loint(from.imag()),
        __double2hiint(from.imag()));
}

template <typename T> struct ulib_texel_of;
template <> struct ulib_texel_of<float> { typedef float type; };
template <> struct ulib_texel_of<double> { typedef int2 type; };
template <> struct ulib_texel_of<pycuda::complex<float> > { typedef uint2 type; };
template <> struct ulib_texel_of<pycuda::complex<double> > { typedef int4 type; };

#define ULIB_LIST(...) __VA_ARGS__
#define ULIB_FETCH(name, dimensions, parameters, arguments) \
    template <typename T> static __device__ __forceinline__ typename ulib_number_of<T>::type fp_##name( \
        ulib_texture<T, dimensions, cudaReadModeElementType> from, parameters) \
    { \
        return ulib_number(name(from, arguments)); \
    }

ULIB_FETCH(tex1Dfetch, 1, int x, x)
ULIB_FETCH(tex1D, 1, float x, x)
ULIB_FETCH(tex2D, 2, ULIB_LIST(float x, float y), ULIB_LIST(x, y))
ULIB_FETCH(tex3D, 3, ULIB_LIST(float x, float y, float z), ULIB_LIST(x, y, z))
ULIB_FETCH(tex1DLayered, cudaTextureType1DLayered, ULIB_LIST(float x, int layer), ULIB_LIST(x, layer))
ULIB_FETCH(tex2DLayered, cudaTextureType2DLayered, ULIB_LIST(float x, float y, int layer), ULIB_LIST(x, y, layer))
ULIB_FETCH(texCubemap, cudaTextureTypeCubemap, ULIB_LIST(float x, float y, float z), ULIB_LIST(x, y, z))
ULIB_FETCH(texCubemapLayered, cudaTextureTypeCubemapLayered, ULIB_LIST(float x, float y, float z, int layer),
    ULIB_LIST(x, y, z, layer))
#undef ULIB_FETCH

#define ULIB_SURFACE(name, dimensions, parameters, arguments) \
    template <typename T, typename V> static __device__ __forceinline__ void fp_##name##read( \
        T *to, ulib_surface<V, dimensions> from, int x parameters, cudaSurfaceBoundaryMode beyond = cudaBoundaryModeTrap) \
    { \
        typedef typename ulib_texel_of<T>::type texel; \
        *to = ulib_number(name##read<texel>(from, x * (int)sizeof(texel) arguments, beyond)); \
    } \
    template <typename T, typename V> static __device__ __forceinline__ void fp_##name##write( \
        T value, ulib_surface<V, dimensions> to, int x parameters, cudaSurfaceBoundaryMode beyond = cudaBoundaryModeTrap) \
    { \
        name##write(ulib_texel(value), to, x * (int)sizeof(typename ulib_texel_of<T>::type) arguments, beyond); \
    }

ULIB_SURFACE(surf1D, 1, , )
ULIB_SURFACE(surf2D, 2, ULIB_LIST(, int y), ULIB_LIST(, y))
ULIB_SURFACE(surf3D, 3, ULIB_LIST(, int y, int z), ULIB_LIST(, y, z))
ULIB_SURFACE(surf1DLayered, cudaSurfaceType1DLayered, ULIB_LIST(, int layer), ULIB_LIST(, layer))
ULIB_SURFACE(surf2DLayered, cudaSurfaceType2DLayered, ULIB_LIST(, int y, int layer), ULIB_LIST(, y, layer))
ULIB_SURFACE(surfCubemap, cudaSurfaceTypeCubemap, ULIB_LIST(, int y, int face), ULIB_LIST(, y, face))
ULIB_SURFACE(surfCubemapLayered, cudaSurfaceTypeCubemapLayered, ULIB_LIST(, int y, int face), ULIB_LIST(, y, face))
#undef ULIB_SURFACE
#undef ULIB_LIST

} // extern "C++"

#endif
