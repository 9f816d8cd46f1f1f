// Texture and surface references over texture and surface objects.
//
// `texture<float, 2> tex;` and `surface<void, 2> surf;` at file scope become device variables of 64 bits of the same names, which the
// host fills with the numbers of objects before a launch. The functions that took references take these variables. Prepended to
// sources that declare one of the two; see mod.rs beside this file.
#ifndef ULIB_TEXTURE_REFERENCES
#define ULIB_TEXTURE_REFERENCES

extern "C++" {

template <typename T, int dimensions = 1, int mode = cudaReadModeElementType> struct ulib_texture
{
    unsigned long long object;
};

template <typename T = void, int dimensions = 1> struct ulib_surface
{
    unsigned long long object;
};

// What a fetch gives: the texel, or where integers are read as parts of 1 as many floats.
template <typename T> struct ulib_floats;
#define ULIB_FLOATS(scalar, vector) \
    template <> struct ulib_floats<scalar> { typedef float type; }; \
    template <> struct ulib_floats<vector##1> { typedef float1 type; }; \
    template <> struct ulib_floats<vector##2> { typedef float2 type; }; \
    template <> struct ulib_floats<vector##4> { typedef float4 type; };
ULIB_FLOATS(signed char, char)
ULIB_FLOATS(unsigned char, uchar)
ULIB_FLOATS(short, short)
ULIB_FLOATS(unsigned short, ushort)
#undef ULIB_FLOATS
template <> struct ulib_floats<char> { typedef float type; };

template <typename T, int mode> struct ulib_fetched { typedef T type; };
template <typename T> struct ulib_fetched<T, cudaReadModeNormalizedFloat> { typedef typename ulib_floats<T>::type type; };

#define ULIB_LIST(...) __VA_ARGS__
#define ULIB_FETCH(name, dimensions, parameters, arguments) \
    template <typename T, int mode> static __device__ __forceinline__ \
    typename ulib_fetched<T, mode>::type name(ulib_texture<T, dimensions, mode> from, parameters) \
    { \
        return ::name<typename ulib_fetched<T, mode>::type>(from.object, arguments); \
    }

ULIB_FETCH(tex1Dfetch, 1, int x, x)
ULIB_FETCH(tex1D, 1, float x, x)
ULIB_FETCH(tex1DLod, 1, ULIB_LIST(float x, float level), ULIB_LIST(x, level))
ULIB_FETCH(tex1DGrad, 1, ULIB_LIST(float x, float dx, float dy), ULIB_LIST(x, dx, dy))
ULIB_FETCH(tex2D, 2, ULIB_LIST(float x, float y), ULIB_LIST(x, y))
ULIB_FETCH(tex2DLod, 2, ULIB_LIST(float x, float y, float level), ULIB_LIST(x, y, level))
ULIB_FETCH(tex2DGrad, 2, ULIB_LIST(float x, float y, float2 dx, float2 dy), ULIB_LIST(x, y, dx, dy))
ULIB_FETCH(tex3D, 3, ULIB_LIST(float x, float y, float z), ULIB_LIST(x, y, z))
ULIB_FETCH(tex3DLod, 3, ULIB_LIST(float x, float y, float z, float level), ULIB_LIST(x, y, z, level))
ULIB_FETCH(tex3DGrad, 3, ULIB_LIST(float x, float y, float z, float4 dx, float4 dy), ULIB_LIST(x, y, z, dx, dy))
ULIB_FETCH(tex1DLayered, cudaTextureType1DLayered, ULIB_LIST(float x, int layer), ULIB_LIST(x, layer))
ULIB_FETCH(tex1DLayeredLod, cudaTextureType1DLayered, ULIB_LIST(float x, int layer, float level), ULIB_LIST(x, layer, level))
ULIB_FETCH(tex1DLayeredGrad, cudaTextureType1DLayered, ULIB_LIST(float x, int layer, float dx, float dy),
    ULIB_LIST(x, layer, dx, dy))
ULIB_FETCH(tex2DLayered, cudaTextureType2DLayered, ULIB_LIST(float x, float y, int layer), ULIB_LIST(x, y, layer))
ULIB_FETCH(tex2DLayeredLod, cudaTextureType2DLayered, ULIB_LIST(float x, float y, int layer, float level),
    ULIB_LIST(x, y, layer, level))
ULIB_FETCH(tex2DLayeredGrad, cudaTextureType2DLayered, ULIB_LIST(float x, float y, int layer, float2 dx, float2 dy),
    ULIB_LIST(x, y, layer, dx, dy))
ULIB_FETCH(texCubemap, cudaTextureTypeCubemap, ULIB_LIST(float x, float y, float z), ULIB_LIST(x, y, z))
ULIB_FETCH(texCubemapLod, cudaTextureTypeCubemap, ULIB_LIST(float x, float y, float z, float level), ULIB_LIST(x, y, z, level))
ULIB_FETCH(texCubemapLayered, cudaTextureTypeCubemapLayered, ULIB_LIST(float x, float y, float z, int layer),
    ULIB_LIST(x, y, z, layer))
ULIB_FETCH(texCubemapLayeredLod, cudaTextureTypeCubemapLayered, ULIB_LIST(float x, float y, float z, int layer, float level),
    ULIB_LIST(x, y, z, layer, level))
#undef ULIB_FETCH

// One channel of the four texels around a place.
template <typename T> struct ulib_four;
#define ULIB_FOUR(scalar, vector) \
    template <> struct ulib_four<scalar> { typedef vector##4 type; }; \
    template <> struct ulib_four<vector##1> { typedef vector##4 type; }; \
    template <> struct ulib_four<vector##2> { typedef vector##4 type; }; \
    template <> struct ulib_four<vector##4> { typedef vector##4 type; };
ULIB_FOUR(signed char, char)
ULIB_FOUR(unsigned char, uchar)
ULIB_FOUR(short, short)
ULIB_FOUR(unsigned short, ushort)
ULIB_FOUR(int, int)
ULIB_FOUR(unsigned int, uint)
ULIB_FOUR(float, float)
#undef ULIB_FOUR

template <typename T, int mode> static __device__ __forceinline__
typename ulib_four<typename ulib_fetched<T, mode>::type>::type tex2Dgather(
    ulib_texture<T, 2, mode> from, float x, float y, int component = 0)
{
    return ::tex2Dgather<typename ulib_four<typename ulib_fetched<T, mode>::type>::type>(from.object, x, y, component);
}

// x is in bytes, as it was.
#define ULIB_SURFACE(name, dimensions, parameters, arguments) \
    template <typename T, typename V> static __device__ __forceinline__ \
    T name##read(ulib_surface<V, dimensions> from, parameters, cudaSurfaceBoundaryMode beyond = cudaBoundaryModeTrap) \
    { \
        return ::name##read<T>(from.object, arguments, beyond); \
    } \
    template <typename T, typename V> static __device__ __forceinline__ \
    void name##read(T *to, ulib_surface<V, dimensions> from, parameters, cudaSurfaceBoundaryMode beyond = cudaBoundaryModeTrap) \
    { \
        *to = ::name##read<T>(from.object, arguments, beyond); \
    } \
    template <typename T, typename V> static __device__ __forceinline__ \
    void name##write(T value, ulib_surface<V, dimensions> to, parameters, cudaSurfaceBoundaryMode beyond = cudaBoundaryModeTrap) \
    { \
        ::name##write<T>(value, to.object, arguments, beyond); \
    }

ULIB_SURFACE(surf1D, 1, int x, x)
ULIB_SURFACE(surf2D, 2, ULIB_LIST(int x, int y), ULIB_LIST(x, y))
ULIB_SURFACE(surf3D, 3, ULIB_LIST(int x, int y, int z), ULIB_LIST(x, y, z))
ULIB_SURFACE(surf1DLayered, cudaSurfaceType1DLayered, ULIB_LIST(int x, int layer), ULIB_LIST(x, layer))
ULIB_SURFACE(surf2DLayered, cudaSurfaceType2DLayered, ULIB_LIST(int x, int y, int layer), ULIB_LIST(x, y, layer))
ULIB_SURFACE(surfCubemap, cudaSurfaceTypeCubemap, ULIB_LIST(int x, int y, int face), ULIB_LIST(x, y, face))
ULIB_SURFACE(surfCubemapLayered, cudaSurfaceTypeCubemapLayered, ULIB_LIST(int x, int y, int face), ULIB_LIST(x, y, face))
#undef ULIB_SURFACE
#undef ULIB_LIST

} // extern "C++"

#endif
