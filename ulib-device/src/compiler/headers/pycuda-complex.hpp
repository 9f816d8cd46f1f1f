// pycuda::complex<T>: two numbers, real part first, aligned as one of them.
#pragma once

extern "C++" {
namespace pycuda {

template <typename T> struct complex {
    typedef T value_type;
    T _M_re;
    T _M_im;

    complex() = default;
    __host__ __device__ complex(T re) : _M_re(re), _M_im() {}
    __host__ __device__ complex(T re, T im) : _M_re(re), _M_im(im) {}
    template <typename U>
    __host__ __device__ complex(const complex<U> &z) : _M_re(static_cast<T>(z._M_re)), _M_im(static_cast<T>(z._M_im)) {}

    __host__ __device__ T real() const { return _M_re; }
    __host__ __device__ T imag() const { return _M_im; }

    template <typename U> __host__ __device__ complex &operator=(const complex<U> &z) {
        _M_re = static_cast<T>(z._M_re);
        _M_im = static_cast<T>(z._M_im);
        return *this;
    }
    __host__ __device__ complex &operator=(T re) {
        _M_re = re;
        _M_im = T();
        return *this;
    }
    template <typename U> __host__ __device__ complex &operator+=(const complex<U> &z) {
        _M_re += static_cast<T>(z._M_re);
        _M_im += static_cast<T>(z._M_im);
        return *this;
    }
    template <typename U> __host__ __device__ complex &operator-=(const complex<U> &z) {
        _M_re -= static_cast<T>(z._M_re);
        _M_im -= static_cast<T>(z._M_im);
        return *this;
    }
    template <typename U> __host__ __device__ complex &operator*=(const complex<U> &z) {
        return *this = *this * complex(z);
    }
    template <typename U> __host__ __device__ complex &operator/=(const complex<U> &z) {
        return *this = *this / complex(z);
    }
    __host__ __device__ complex &operator+=(T x) { _M_re += x; return *this; }
    __host__ __device__ complex &operator-=(T x) { _M_re -= x; return *this; }
    __host__ __device__ complex &operator*=(T x) { _M_re *= x; _M_im *= x; return *this; }
    __host__ __device__ complex &operator/=(T x) { _M_re /= x; _M_im /= x; return *this; }

    friend __host__ __device__ complex operator+(const complex &a) { return a; }
    friend __host__ __device__ complex operator-(const complex &a) { return complex(-a._M_re, -a._M_im); }
    friend __host__ __device__ complex operator+(const complex &a, const complex &b) {
        return complex(a._M_re + b._M_re, a._M_im + b._M_im);
    }
    friend __host__ __device__ complex operator-(const complex &a, const complex &b) {
        return complex(a._M_re - b._M_re, a._M_im - b._M_im);
    }
    friend __host__ __device__ complex operator*(const complex &a, const complex &b) {
        return complex(a._M_re * b._M_re - a._M_im * b._M_im, a._M_re * b._M_im + a._M_im * b._M_re);
    }
    // Divides by the larger part first, so that what lies between does not overflow.
    friend __host__ __device__ complex operator/(const complex &a, const complex &b) {
        T re = b._M_re < T() ? -b._M_re : b._M_re, im = b._M_im < T() ? -b._M_im : b._M_im;
        if (re >= im) {
            T ratio = b._M_im / b._M_re, scale = b._M_re + b._M_im * ratio;
            return complex((a._M_re + a._M_im * ratio) / scale, (a._M_im - a._M_re * ratio) / scale);
        }
        T ratio = b._M_re / b._M_im, scale = b._M_re * ratio + b._M_im;
        return complex((a._M_re * ratio + a._M_im) / scale, (a._M_im * ratio - a._M_re) / scale);
    }
    friend __host__ __device__ bool operator==(const complex &a, const complex &b) {
        return a._M_re == b._M_re && a._M_im == b._M_im;
    }
    friend __host__ __device__ bool operator!=(const complex &a, const complex &b) { return !(a == b); }
};

template <typename T> __host__ __device__ inline T real(const complex<T> &z) { return z._M_re; }
template <typename T> __host__ __device__ inline T imag(const complex<T> &z) { return z._M_im; }
template <typename T> __host__ __device__ inline T norm(const complex<T> &z) {
    return z._M_re * z._M_re + z._M_im * z._M_im;
}
template <typename T> __host__ __device__ inline complex<T> conj(const complex<T> &z) {
    return complex<T>(z._M_re, -z._M_im);
}
template <typename T> __device__ inline T abs(const complex<T> &z) { return ::hypot(z._M_re, z._M_im); }
template <typename T> __device__ inline T arg(const complex<T> &z) { return ::atan2(z._M_im, z._M_re); }
template <typename T> __device__ inline complex<T> polar(T r, T phi) {
    return complex<T>(r * ::cos(phi), r * ::sin(phi));
}

template <typename T> __device__ inline complex<T> exp(const complex<T> &z) {
    return polar<T>(::exp(z._M_re), z._M_im);
}
template <typename T> __device__ inline complex<T> log(const complex<T> &z) {
    return complex<T>(::log(abs(z)), arg(z));
}
template <typename T> __device__ inline complex<T> log10(const complex<T> &z) {
    return log(z) / complex<T>(::log(T(10)));
}
template <typename T> __device__ inline complex<T> sqrt(const complex<T> &z) {
    T size = abs(z);
    if (size == T()) {
        return complex<T>(T(), z._M_im);
    }
    T half = ::sqrt((size + ::fabs(z._M_re)) / T(2));
    if (z._M_re >= T()) {
        return complex<T>(half, z._M_im / (T(2) * half));
    }
    return complex<T>(::fabs(z._M_im) / (T(2) * half), ::copysign(half, z._M_im));
}
template <typename T> __device__ inline complex<T> pow(const complex<T> &a, const complex<T> &b) {
    if (a == complex<T>()) {
        return b == complex<T>() ? complex<T>(T(1)) : complex<T>();
    }
    return exp(b * log(a));
}
template <typename T> __device__ inline complex<T> pow(const complex<T> &a, const T &b) { return pow(a, complex<T>(b)); }
template <typename T> __device__ inline complex<T> pow(const T &a, const complex<T> &b) { return pow(complex<T>(a), b); }
template <typename T> __device__ inline complex<T> pow(complex<T> a, int n) {
    bool inverse = n < 0;
    unsigned int left = inverse ? 0u - static_cast<unsigned int>(n) : static_cast<unsigned int>(n);
    complex<T> result(T(1));
    for (; left; left >>= 1) {
        if (left & 1) {
            result *= a;
        }
        a *= a;
    }
    return inverse ? complex<T>(T(1)) / result : result;
}
template <typename T> __device__ inline complex<T> sinh(const complex<T> &z) {
    return complex<T>(::sinh(z._M_re) * ::cos(z._M_im), ::cosh(z._M_re) * ::sin(z._M_im));
}
template <typename T> __device__ inline complex<T> cosh(const complex<T> &z) {
    return complex<T>(::cosh(z._M_re) * ::cos(z._M_im), ::sinh(z._M_re) * ::sin(z._M_im));
}
template <typename T> __device__ inline complex<T> sin(const complex<T> &z) {
    return complex<T>(::sin(z._M_re) * ::cosh(z._M_im), ::cos(z._M_re) * ::sinh(z._M_im));
}
template <typename T> __device__ inline complex<T> cos(const complex<T> &z) {
    return complex<T>(::cos(z._M_re) * ::cosh(z._M_im), -::sin(z._M_re) * ::sinh(z._M_im));
}
template <typename T> __device__ inline complex<T> tanh(const complex<T> &z) { return sinh(z) / cosh(z); }
template <typename T> __device__ inline complex<T> tan(const complex<T> &z) { return sin(z) / cos(z); }
template <typename T> __device__ inline complex<T> i_times(const complex<T> &z) { return complex<T>(-z._M_im, z._M_re); }
template <typename T> __device__ inline complex<T> asinh(const complex<T> &z) {
    return log(z + sqrt(z * z + complex<T>(T(1))));
}
template <typename T> __device__ inline complex<T> acosh(const complex<T> &z) {
    return log(z + sqrt(z + complex<T>(T(1))) * sqrt(z - complex<T>(T(1))));
}
template <typename T> __device__ inline complex<T> atanh(const complex<T> &z) {
    return (log(complex<T>(T(1)) + z) - log(complex<T>(T(1)) - z)) / complex<T>(T(2));
}
template <typename T> __device__ inline complex<T> asin(const complex<T> &z) {
    complex<T> w = asinh(i_times(z));
    return complex<T>(w._M_im, -w._M_re);
}
template <typename T> __device__ inline complex<T> acos(const complex<T> &z) {
    complex<T> w = asin(z);
    return complex<T>(::acos(T(0)) - w._M_re, -w._M_im);
}
template <typename T> __device__ inline complex<T> atan(const complex<T> &z) {
    complex<T> w = atanh(i_times(z));
    return complex<T>(w._M_im, -w._M_re);
}

}  // namespace pycuda
}
