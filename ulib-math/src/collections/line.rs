//! Points, directions and lines in homogeneous coordinates.

use ulib_core::device_storable;

device_storable! {
    /// Four `f32`: a point when `w` is 1, a direction when `w` is 0.
    #[derive(Debug, Default, PartialEq)]
    pub struct Vector4 {
        /// Along x.
        pub x: f32,
        /// Along y.
        pub y: f32,
        /// Along z.
        pub z: f32,
        /// 1 for a point, 0 for a direction.
        pub w: f32,
    }
}

impl Vector4 {
    /// The point at these coordinates: `w` is 1.
    pub const fn point([x, y, z]: [f32; 3]) -> Self {
        Vector4 { x, y, z, w: 1.0 }
    }

    /// The direction with these components: `w` is 0.
    pub const fn direction([x, y, z]: [f32; 3]) -> Self {
        Vector4 { x, y, z, w: 0.0 }
    }
}

impl From<[f32; 4]> for Vector4 {
    fn from([x, y, z, w]: [f32; 4]) -> Self {
        Vector4 { x, y, z, w }
    }
}

impl From<Vector4> for [f32; 4] {
    fn from(v: Vector4) -> Self {
        [v.x, v.y, v.z, v.w]
    }
}

device_storable! {
    /// A line in space, 32 bytes: a point on it and its direction.
    #[derive(Debug, Default, PartialEq)]
    pub struct Line {
        /// A point on the line.
        pub origin: Vector4,
        /// Where the line goes.
        pub direction: Vector4,
    }
}

impl Line {
    /// The line through `origin` along `direction`.
    ///
    /// ```
    /// use ulib_math::Line;
    /// let line = Line::new([1.0, 2.0, 3.0], [0.0, -1.0, 0.0]);
    /// assert_eq!((line.origin.w, line.direction.w), (1.0, 0.0));
    /// ```
    pub const fn new(origin: [f32; 3], direction: [f32; 3]) -> Self {
        Line {
            origin: Vector4::point(origin),
            direction: Vector4::direction(direction),
        }
    }
}
