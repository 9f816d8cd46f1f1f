// What a number of the scale looks like: not more digits than 8 bits are worth.
const short = value => String(Number(value.toPrecision(4)));

// The bytes behind zlib and base64.
async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const bytes = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(bytes).arrayBuffer());
}

// Which axes point right and up, as seen along x, y and z.
const ACROSS = [[1, 2], [0, 2], [0, 1]];
const NAN = [200, 30, 30];
const LONGEST = 320;

async function start(viewer) {
  const volume = JSON.parse(viewer.dataset.volume);
  const { shape, dims, step, spacing, corner, low, high } = volume;
  const codes = await unpacked(viewer.querySelector('script').textContent);
  const strides = [1, shape[0], shape[0] * shape[1]];
  const [lowest, highest] = ['.low', '.high'].map(name => viewer.querySelector(name));
  const maps = viewer.querySelector('select');
  const here = viewer.querySelector('.here');
  const panes = [...viewer.querySelectorAll('figure')].map(figure => ({
    axis: Number(figure.dataset.axis),
    canvas: figure.querySelector('canvas'),
    slider: figure.querySelector('input'),
    output: figure.querySelector('output'),
  }));
  const lengths = shape.map((side, axis) => side * step[axis] * spacing[axis]);
  const scale = LONGEST / Math.max(...lengths);
  // Of a block along an axis: its first voxel, the one behind its last, and both as a text.
  const first = (axis, at) => at * step[axis];
  const end = (axis, at) => Math.min(first(axis, at) + step[axis], dims[axis]);
  const index = (axis, at) => step[axis] === 1 ? String(at) : `${first(axis, at)}-${end(axis, at) - 1}`;
  const world = (axis, at) => corner[axis] + (first(axis, at) + end(axis, at)) / 2 * spacing[axis];
  const what = step.every(side => side === 1) ? 'voxel' : 'mean of voxels';
  const value = code => low + (code - 1) / 254 * (high - low);
  let colours;

  function choose() {
    const [a, b] = [lowest, highest].map(slider => Number(slider.value) / 1000);
    const [from, to] = [Math.min(a, b), Math.max(a, b)];
    lowest.nextElementSibling.value = short(low + a * (high - low));
    highest.nextElementSibling.value = short(low + b * (high - low));
    const map = Uint8Array.from(atob(MAPS[maps.value]), letter => letter.charCodeAt(0));
    colours = [NAN];
    for (let code = 1; code < 256; code++) {
      const at = (code - 1) / 254;
      const place = from < to ? (at - from) / (to - from) : at < from ? 0 : at > from ? 1 : 0.5;
      const entry = Math.round(Math.min(Math.max(place, 0), 1) * 255) * 3;
      colours.push(map.subarray(entry, entry + 3));
    }
  }

  function draw(pane) {
    const [right, up] = ACROSS[pane.axis];
    const [width, height] = [shape[right], shape[up]];
    const slice = Number(pane.slider.value);
    const context = pane.canvas.getContext('2d');
    const image = context.createImageData(width, height);
    for (let row = 0; row < height; row++) {
      const line = slice * strides[pane.axis] + (height - 1 - row) * strides[up];
      for (let column = 0; column < width; column++) {
        const pixel = 4 * (row * width + column);
        const [red, green, blue] = colours[codes[line + column * strides[right]]];
        image.data[pixel] = red;
        image.data[pixel + 1] = green;
        image.data[pixel + 2] = blue;
        image.data[pixel + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
    pane.output.value = `${index(pane.axis, slice)} (${short(world(pane.axis, slice))})`;
  }

  const all = () => { choose(); panes.forEach(draw); };
  for (const pane of panes) {
    const [right, up] = ACROSS[pane.axis];
    pane.canvas.width = shape[right];
    pane.canvas.height = shape[up];
    pane.canvas.style.width = `${Math.max(lengths[right] * scale, 8)}px`;
    pane.canvas.style.height = `${Math.max(lengths[up] * scale, 8)}px`;
    pane.slider.addEventListener('input', () => draw(pane));
    pane.canvas.addEventListener('mousemove', event => {
      const box = pane.canvas.getBoundingClientRect();
      const part = (place, length, side) => Math.min(Math.max(Math.floor(place / length * side), 0), side - 1);
      const at = [0, 0, 0];
      at[pane.axis] = Number(pane.slider.value);
      at[right] = part(event.clientX - box.left, box.width, shape[right]);
      at[up] = shape[up] - 1 - part(event.clientY - box.top, box.height, shape[up]);
      const code = codes[at[0] + at[1] * strides[1] + at[2] * strides[2]];
      const text = code === 0 ? 'NaN' : `about ${short(value(code))}`;
      here.textContent = `${what} ${at.map((place, axis) => index(axis, place)).join(', ')}: ${text}`;
    });
    pane.canvas.addEventListener('mouseleave', () => { here.textContent = ''; });
  }
  for (const control of [lowest, highest]) {
    control.disabled = low === high;
    control.addEventListener('input', all);
  }
  maps.addEventListener('input', all);
  all();
  viewer.dataset.state = 'ready';
}

for (const viewer of document.querySelectorAll('.viewer')) {
  start(viewer).catch(error => {
    viewer.dataset.state = 'failed';
    viewer.querySelector('.here').textContent = `The slices cannot be shown: ${error.message}`;
    console.error(error);
  });
}
